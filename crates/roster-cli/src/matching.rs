//! Changes of all users that match a condition.

use roster_client::Client;

use crate::assign::Assignments;
use crate::failure::{Failure, Outcome};
use crate::find::Selection;
use crate::output::Output;

pub(crate) async fn change(
    _client: &Client,
    _output: &Output,
    _selection: &Selection,
    _change: Option<&Assignments>,
    _yes: bool,
    _dry_run: bool,
) -> Outcome {
    Err(Failure::usage("not yet"))
}
