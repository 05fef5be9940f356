//! What a row must be able to do: to be read from every backend that is compiled in.

/// A row that can be read from every backend that is compiled in.
pub trait Row: 'static + on_all::RowOnAll {}
impl<T: 'static + on_all::RowOnAll> Row for T {}

mod on_all {
    use diesel::deserialize::QueryableByName;

    macro_rules! row_on_all {
        ($(($feature:literal, $name:ident, $backend:ty)),*) => {
            $(
                #[cfg(feature = $feature)]
                pub trait $name: QueryableByName<$backend> {}
                #[cfg(feature = $feature)]
                impl<T: QueryableByName<$backend>> $name for T {}
                #[cfg(not(feature = $feature))]
                pub trait $name {}
                #[cfg(not(feature = $feature))]
                impl<T> $name for T {}
            )*
        };
    }
    row_on_all!(
        ("sqlite", OnSqlite, diesel::sqlite::Sqlite),
        ("postgres", OnPostgres, diesel::pg::Pg),
        ("mysql", OnMysql, diesel::mysql::Mysql)
    );

    pub trait RowOnAll: OnSqlite + OnPostgres + OnMysql {}
    impl<T: OnSqlite + OnPostgres + OnMysql> RowOnAll for T {}
}
