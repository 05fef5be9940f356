//! Finds `:name` in SQL that a user wrote, and leaves alone what only looks like one: `::`, literals, quoted names,
//! comments. Knows no names and binds nothing.

use crate::store::dialect::Dialect;

/// A stretch of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text to be sent as it is.
    Text(String),
    /// The name after a colon.
    Name(String),
}

/// Takes SQL apart.
pub fn parse(sql: &str, dialect: Dialect) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ':' => {
                let name = name_after_colon(rest);
                if !name.is_empty() && !text.ends_with(':') {
                    if !text.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(Piece::Name(name.to_owned()));
                    rest = &rest[1 + name.len()..];
                    continue;
                }
                1
            }
            _ => left_alone(rest, &text, dialect).unwrap_or(first.len_utf8()),
        };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

fn name_after_colon(rest: &str) -> &str {
    let name = &rest[1..];
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return "";
    }
    &name[..name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len())]
}

/// The length of the literal, quoted name or comment at the start of `rest`, if there is one; `before` is what precedes it.
fn left_alone(rest: &str, before: &str, dialect: Dialect) -> Option<usize> {
    let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
    let escapes = match dialect {
        Dialect::Sqlite => false,
        Dialect::Mysql => true,
        // E'…' only, and not a name that ends with e.
        Dialect::Postgres => before
            .strip_suffix(['e', 'E'])
            .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')),
    };
    match rest.as_bytes()[0] {
        b'\'' => Some(quoted(rest, '\'', escapes)),
        b'"' => Some(quoted(rest, '"', dialect == Dialect::Mysql)),
        b'`' if dialect != Dialect::Postgres => Some(quoted(rest, '`', false)),
        b'[' if dialect == Dialect::Sqlite => Some(rest.find(']').map_or(rest.len(), |end| end + 1)),
        b'-' if rest.starts_with("--") => {
            let spaced = rest[2..].chars().next().is_none_or(char::is_whitespace);
            (dialect != Dialect::Mysql || spaced).then(|| line(rest))
        }
        b'#' if dialect == Dialect::Mysql => Some(line(rest)),
        b'/' if rest.starts_with("/*") => Some(comment(rest, dialect == Dialect::Postgres)),
        b'$' if dialect == Dialect::Postgres && !in_word => dollar_quoted(rest),
        _ => None,
    }
}

/// The closing quote may be doubled, and where backslashes escape, escaped.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && escapes {
            characters.next();
        } else if character == quote {
            match characters.peek() {
                Some((_, next)) if *next == quote => {
                    characters.next();
                }
                _ => return at + quote.len_utf8(),
            }
        }
    }
    rest.len()
}

fn line(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

fn comment(rest: &str, nested: bool) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") && (nested || depth == 0) {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `$$…$$` or `$tag$…$tag$`; `$1` is none.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let end = rest[1..].find('$')? + 1;
    let tag = &rest[1..end];
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_') && !tag.starts_with(|c: char| c.is_ascii_digit());
    if !is_tag {
        return None;
    }
    let fence = &rest[..=end];
    Some(rest[end + 1..].find(fence).map_or(rest.len(), |at| end + 1 + at + fence.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str, dialect: Dialect) -> Vec<String> {
        let pieces = parse(sql, dialect);
        let whole: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Name(name) => format!(":{name}"),
            })
            .collect();
        assert_eq!(whole, sql, "nothing is lost");
        let name = |piece| if let Piece::Name(name) = piece { Some(name) } else { None };
        pieces.into_iter().filter_map(name).collect()
    }

    #[test]
    fn names_are_found() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            assert_eq!(names("a = :key, b=:attempt+1", dialect), ["key", "attempt"]);
            assert_eq!(names("x = 'it''s :no' AND y=:yes", dialect), ["yes"]);
            assert_eq!(names("x = 1 /* :no ä */ AND y=:yes -- :no\n AND :zä", dialect), ["yes", "zä"]);
            assert_eq!(names("a = '12:30:00' AND b = 5:6", dialect), [""; 0]);
        }
    }

    #[test]
    fn casts_and_dollar_quotes_are_left_alone() {
        assert_eq!(names("x::text = :key::text", Dialect::Postgres), ["key"]);
        assert_eq!(names("$$ :no $$ || $t$ :no $$ $t$ || :yes", Dialect::Postgres), ["yes"]);
        assert_eq!(names("E'\\' :no' || :yes || name'\\' || :too", Dialect::Postgres), ["yes", "too"]);
        assert_eq!(names("/* a /* :no */ :no */ :yes", Dialect::Postgres), ["yes"]);
        assert_eq!(names("\"a:no\" = :yes", Dialect::Postgres), ["yes"]);
    }

    #[test]
    fn each_database_has_its_own_quotes() {
        assert_eq!(names("`:no` = '\\' :no' # :no\n + :yes", Dialect::Mysql), ["yes"]);
        assert_eq!(names("5--:yes", Dialect::Mysql), ["yes"]);
        assert_eq!(names("[a:no] = '\\' || :yes", Dialect::Sqlite), ["yes"]);
        assert_eq!(names("x = 'open :no", Dialect::Sqlite), [""; 0]);
    }
}
