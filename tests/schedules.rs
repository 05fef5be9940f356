#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Schedules over real nodes: each due time fires once, whoever lives, and none is without a record.

#[path = "schedules/cluster.rs"]
mod cluster;
#[path = "schedules/declared.rs"]
mod declared;
#[path = "schedules/grid.rs"]
mod grid;
#[path = "schedules/ledger.rs"]
mod ledger;
#[path = "schedules/misfire.rs"]
mod misfire;
#[path = "schedules/outage.rs"]
mod outage;
#[path = "schedules/overlap.rs"]
mod overlap;
#[path = "schedules/races.rs"]
mod races;
#[path = "schedules/results.rs"]
mod results;
#[path = "schedules/speed.rs"]
mod speed;
#[path = "schedules/takeover.rs"]
mod takeover;

#[path = "processes/setting.rs"]
mod setting;
