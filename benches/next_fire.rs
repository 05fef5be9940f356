//! What one look for the next due time costs: `cargo bench --bench next_fire`. None may take more than 10 ms.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use soloist::trigger::{Cron, Zone};

const LOOKS: u32 = 200;
const MOST: Duration = Duration::from_millis(10);

fn main() {
    let zones =
        ["UTC", "Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe"].map(|name| Zone::get(name).unwrap());
    let from: Timestamp = "2096-03-01T00:00:00Z".parse().unwrap();
    let mut worst = Duration::ZERO;
    for text in [
        "* * * * * *",
        "*/5 * * * *",
        "0 3 * * *",
        "0 9-17 * * 1-5",
        "0 0 L * *",
        "0 0 29 2 *",
        "* * 29 2 *",
        "0 0 29 2 */7",
        "* * 29 2 */7",
        "59 59 23 31W 12 ?",
        "0 0 */31 1 MON#1",
        "* * * 2 MON#5",
        "0 0 30 2 1",
    ] {
        let cron = Cron::parse(text).unwrap();
        for zone in &zones {
            let mut at = from.as_microsecond();
            let start = Instant::now();
            for _ in 0..LOOKS {
                at = black_box(cron.next(zone, at)).unwrap_or(from.as_microsecond());
            }
            let each = start.elapsed() / LOOKS;
            worst = worst.max(each);
            println!("{text:20} {:20} {each:?}", zone.name());
        }
    }
    println!("the slowest: {worst:?}");
    assert!(worst < MOST, "{worst:?} is more than {MOST:?}");
}
