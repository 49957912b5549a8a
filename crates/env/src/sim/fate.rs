//! What happens to one request on its way to a simulated store: owns the draw. Guarantees that nothing is drawn for a fault
//! that cannot happen, so that a new kind of fault changes no run without it. Never touches an object.

use std::time::Duration;

use super::world::World;

/// What happens to one request.
pub(super) struct Fate {
    pub(super) before: Duration,
    pub(super) after: Duration,
    pub(super) way: Way,
}

/// How a request fares.
pub(super) enum Way {
    /// It has its effect and is answered.
    Answered,
    /// It never arrives, and the answer is an error.
    Lost,
    /// It has its effect, and the answer is an error.
    AnswerLost,
    /// The answer is an error, and the effect comes so long after it.
    Late(Duration),
    /// It is refused.
    Throttled,
    /// The answer after so long is that none came in time.
    TimedOut { applied: bool, after: Duration },
    /// There is no answer.
    Hangs { applied: bool },
}

impl Fate {
    pub(super) fn draw(world: &World) -> Fate {
        let faults = world.plan.lock().store.clone();
        let (before, after) = (world.draw_delay(faults.max_delay), world.draw_delay(faults.max_delay));
        let long = faults.max_delay * 10;
        let happens = |chance: f64| world.fate.chance(chance);
        let way = if happens(faults.fail_before) {
            Way::Lost
        } else if happens(faults.fail_after) {
            Way::AnswerLost
        } else if happens(faults.late) {
            Way::Late(world.draw_delay(long))
        } else if happens(faults.throttled) {
            Way::Throttled
        } else if happens(faults.timed_out_before) {
            Way::TimedOut { applied: false, after: long }
        } else if happens(faults.timed_out_after) {
            Way::TimedOut { applied: true, after: long }
        } else if happens(faults.hanging) {
            Way::Hangs { applied: happens(0.5) }
        } else {
            Way::Answered
        };
        Fate { before, after, way }
    }
}
