//! Whose turn it is.
#![allow(clippy::unwrap_used)]

use super::*;

fn room() -> Arc<Room> {
    Waiting::new(watch::Sender::new(()).subscribe(), Duration::from_secs(1)).room
}

fn places(room: &Arc<Room>, task: &str, count: usize) -> Vec<Place> {
    (0..count).map(|_| enter(room, task).unwrap().0).collect()
}

/// The turns that the places have at this moment.
fn turns(places: &mut [Place]) -> Vec<Option<Turn>> {
    let turn = |place: &mut Place| {
        let heard = place.heard.try_recv().ok();
        heard.map(|_| Turn { room: place.room.clone(), task: place.task.clone(), may_be_more: true })
    };
    places.iter_mut().map(turn).collect()
}

fn has(turns: &[Option<Turn>]) -> Vec<bool> {
    turns.iter().map(Option::is_some).collect()
}

#[test]
fn a_look_gives_one_turn_however_many_wait() {
    let room = room();
    let mut waiting = places(&room, "p", 3);
    let mut others = places(&room, "q", 2);
    room.give_turn("p");
    let mut first = turns(&mut waiting);
    assert_eq!(has(&first), [true, false, false]);
    assert_eq!(has(&turns(&mut others)), [false, false]);
    first.remove(0).unwrap().found_nothing();
    assert_eq!(has(&turns(&mut waiting)), [false, false, false], "nobody else tries in vain");
    room.give_turn("p");
    assert_eq!(has(&turns(&mut waiting)), [false, true, false], "the one that tried is the last now");
}

#[test]
fn whoever_finds_something_or_goes_away_passes_its_turn_on() {
    let room = room();
    let mut waiting = places(&room, "p", 3);
    room.give_turn("p");
    drop(turns(&mut waiting));
    let second = turns(&mut waiting);
    assert_eq!(has(&second), [false, true, false]);
    drop(second);
    drop(waiting.pop());
    assert_eq!(has(&turns(&mut waiting)), [true, false], "the third never took its turn");
    drop(waiting);
    let queues = room.queues();
    assert_eq!((queues.waiting, queues.of_task.len()), (0, 0));
}

#[test]
fn as_many_wait_as_may_and_no_more() {
    let room = room();
    let waiting = places(&room, "p", MOST);
    let refused = enter(&room, "q").err().unwrap();
    assert!(refused.to_string().starts_with("too_many_waiting"), "{refused}");
    drop(waiting);
    assert!(enter(&room, "q").is_ok());
}
