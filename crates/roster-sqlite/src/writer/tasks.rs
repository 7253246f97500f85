//! Work of the writer that is no command, such as changes of keys and housekeeping. The writer
//! executes one task after each transaction.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use roster_core::StoreError;
use tokio::sync::oneshot;

use super::Writer;

/// Most tasks that wait.
const TASKS_MAX: usize = 64;

/// A task. It answers its caller itself.
pub(super) type Task = Box<dyn FnOnce(&Writer) + Send>;

/// The tasks that wait.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Task>,
    closed: bool,
}

impl Tasks {
    /// Queues a task; refused when the tasks are closed or too many wait.
    pub(crate) fn push<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Writer) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closing".into()));
        }
        if state.waiting.len() >= TASKS_MAX {
            return Err(StoreError::Unavailable("too many tasks wait".into()));
        }
        let (reply, answer) = oneshot::channel();
        // The caller may be gone: the task is done all the same.
        state.waiting.push_back(Box::new(|writer| drop(reply.send(work(writer)))));
        Ok(answer)
    }

    /// The next task, and whether others wait behind it.
    pub(super) fn next(&self) -> Option<(Task, bool)> {
        let mut state = self.lock();
        let task = state.waiting.pop_front()?;
        Some((task, !state.waiting.is_empty()))
    }

    /// Refuses further tasks and drops those that wait, which their callers learn.
    pub(crate) fn close(&self) {
        *self.lock() = State { waiting: VecDeque::new(), closed: true };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
