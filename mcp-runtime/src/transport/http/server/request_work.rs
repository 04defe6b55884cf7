//! [`RequestWork`]: works on a session that serves one request in the future of that request, as long as it waits for its
//! answer. What is left then goes on in a task of its own.
//!
//! Most requests are answered without waiting for anything. They then cost no task, and no timer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Handle;

use super::quotas::SessionSlot;
use crate::bell::Bell;
use crate::driver::{Carry, Carrying};
use crate::panics::contained;

/// How often the parts are polled before other tasks of the thread have their turn.
const ROUNDS: usize = 64;

/// The place of the future that carries the session.
#[derive(Default)]
pub(super) struct CarrierPlace {
    bell: Bell,
    came: Mutex<Came>,
}

/// Whether the future that carries the session has come.
#[derive(Default)]
enum Came {
    #[default]
    NotYet,
    Here(Carrying),
    /// It is being polled, or is not taken any more.
    Closed,
}

#[cfg(test)]
impl Came {
    fn is_closed(&self) -> bool {
        matches!(self, Came::Closed)
    }
}

impl CarrierPlace {
    fn came(&self) -> MutexGuard<'_, Came> {
        // What is done under the lock does not panic.
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the future if it has come. No other is taken then.
    fn take(&self) -> Option<Carrying> {
        let mut came = self.came();
        match std::mem::take(&mut *came) {
            Came::NotYet => None,
            Came::Here(future) => {
                *came = Came::Closed;
                Some(future)
            }
            Came::Closed => {
                *came = Came::Closed;
                None
            }
        }
    }

    /// Takes no future from here on. Returns the one that has come in the same moment.
    fn close(&self) -> Option<Carrying> {
        match std::mem::replace(&mut *self.came(), Came::Closed) {
            Came::Here(future) => Some(future),
            Came::NotYet | Came::Closed => None,
        }
    }
}

impl Carry for CarrierPlace {
    fn carry(&self, future: Carrying) -> Result<(), Carrying> {
        let mut came = self.came();
        if !matches!(*came, Came::NotYet) {
            return Err(future);
        }
        *came = Came::Here(future);
        drop(came);
        self.bell.ring();
        Ok(())
    }
}

impl Wake for CarrierPlace {
    fn wake(self: Arc<Self>) {
        self.bell.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.bell.ring();
    }
}

/// The work on one request: the program's code, and what carries its session.
pub(super) struct RequestWork {
    /// `None` once it has returned.
    program: Option<Carrying>,
    program_bell: Arc<Bell>,
    program_waker: Waker,
    /// `None` before it has come, and at its end.
    carrying: Option<Carrying>,
    place: Arc<CarrierPlace>,
    place_waker: Waker,
    /// The session counts until both are done.
    _slot: SessionSlot,
}

impl RequestWork {
    pub(super) fn new(program: Carrying, place: Arc<CarrierPlace>, slot: SessionSlot) -> RequestWork {
        let program_bell = Arc::new(Bell::default());
        program_bell.ring();
        RequestWork {
            program: Some(program),
            program_waker: Waker::from(Arc::clone(&program_bell)),
            program_bell,
            carrying: None,
            place_waker: Waker::from(Arc::clone(&place)),
            place,
            _slot: slot,
        }
    }

    /// Polls the parts that were woken until both wait. Returns `false` if they do not come to rest.
    pub(super) fn run(&mut self) -> bool {
        for _ in 0..ROUNDS {
            let woken = self.program_bell.take_rung();
            if woken {
                poll_part(&mut self.program, &self.program_waker);
            }
            if self.place.bell.take_rung() {
                if self.carrying.is_none() {
                    self.carrying = self.place.take();
                }
                poll_part(&mut self.carrying, &self.place_waker);
            } else if !woken {
                return true;
            }
        }
        false
    }

    /// Works on, and has the task woken when there is more to do.
    pub(super) fn work(&mut self, context: &Context<'_>) {
        loop {
            if !self.run() {
                context.waker().wake_by_ref();
                return;
            }
            self.program_bell.ring_in(context.waker().clone());
            self.place.bell.ring_in(context.waker().clone());
            if !self.program_bell.has_rung() && !self.place.bell.has_rung() {
                return;
            }
        }
    }

    /// Whether nothing is left to do. From then on another task carries what the program may begin.
    fn is_done(&mut self) -> bool {
        if self.program.is_none() && self.carrying.is_none() {
            self.carrying = self.place.close();
            if self.carrying.is_some() {
                self.place.bell.ring();
            }
        }
        self.program.is_none() && self.carrying.is_none()
    }

    /// The request does not wait any more: what is left goes on in a task of its own.
    pub(super) fn leave(mut self) {
        // Without a runtime nothing can go on.
        if !self.is_done()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(self);
        }
    }
}

/// Polls one part. One that panics is done, as a task is.
fn poll_part(part: &mut Option<Carrying>, waker: &Waker) {
    let Some(future) = part else { return };
    let polled = contained(|| future.as_mut().poll(&mut Context::from_waker(waker)));
    if !matches!(polled, Ok(Poll::Pending)) {
        let done = part.take();
        // The hook of the panic has reported it.
        let _ = contained(|| drop(done));
    }
}

impl Future for RequestWork {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.work(context);
        if this.is_done() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for RequestWork {
    /// What has come and was never polled would keep its place, and its place would keep it.
    fn drop(&mut self) {
        drop(self.place.close());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// The work of a program, and the place for what it begins.
    fn work(program: impl Future<Output = ()> + Send + 'static, place: &Arc<CarrierPlace>) -> RequestWork {
        RequestWork::new(Box::pin(program), Arc::clone(place), SessionSlot::default())
    }

    fn alive_tasks() -> usize {
        Handle::current().metrics().num_alive_tasks()
    }

    #[tokio::test]
    async fn what_does_not_wait_needs_no_task() {
        let (place, done) = (Arc::new(CarrierPlace::default()), Arc::new(AtomicUsize::new(0)));
        let (of_program, begun) = (Arc::clone(&done), Arc::clone(&place));
        let mut work = work(
            async move {
                let carried = Arc::clone(&of_program);
                let carrying = async move {
                    carried.fetch_add(1, Ordering::Relaxed);
                };
                assert!(begun.carry(Box::pin(carrying)).is_ok());
                // It waits, and goes on at once.
                tokio::task::yield_now().await;
                of_program.fetch_add(1, Ordering::Relaxed);
            },
            &place,
        );
        while done.load(Ordering::Relaxed) < 2 {
            assert!(work.run());
            tokio::task::yield_now().await;
        }
        work.leave();
        assert_eq!(alive_tasks(), 0);
    }

    #[tokio::test]
    async fn what_is_left_goes_on_in_a_task() {
        let (place, go_on, done) = (Arc::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (waits, tells) = (Arc::clone(&go_on), Arc::clone(&done));
        let mut work = work(
            async move {
                waits.notified().await;
                tells.notify_one();
            },
            &place,
        );
        assert!(work.run());
        work.leave();
        assert_eq!(alive_tasks(), 1);
        go_on.notify_one();
        done.notified().await;
        tokio::task::yield_now().await;
        assert_eq!(alive_tasks(), 0);
    }

    #[tokio::test]
    async fn a_request_is_woken_for_its_work() {
        let (place, go_on) = (Arc::default(), Arc::new(Notify::new()));
        let waits = Arc::clone(&go_on);
        let work = work(async move { waits.notified().await }, &place);
        tokio::join!(work, async { go_on.notify_one() });
    }

    #[tokio::test]
    async fn a_session_may_begin_in_another_task_and_after_the_program() {
        let (place, done) = (Arc::new(CarrierPlace::default()), Arc::new(Notify::new()));
        let (begun, tells) = (Arc::clone(&place), Arc::clone(&done));
        let mut work = work(
            async move {
                let carrying = async move { tells.notify_one() };
                tokio::spawn(async move { assert!(begun.carry(Box::pin(carrying)).is_ok()) });
            },
            &place,
        );
        assert!(work.run());
        std::future::poll_fn(|context| {
            work.work(context);
            if work.place.came().is_closed() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        done.notified().await;
        work.leave();
        assert!(place.carry(Box::pin(async {})).is_err(), "the place is gone");
    }

    #[tokio::test]
    async fn a_part_that_panics_is_done() {
        let place = Arc::default();
        let mut work = work(async { panic!("on purpose") }, &place);
        assert!(work.run() && work.is_done());
    }

    #[tokio::test]
    async fn work_without_rest_gives_way() {
        let place = Arc::default();
        let mut work = work(
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                Poll::Pending
            }),
            &place,
        );
        assert!(!work.run());
    }
}
