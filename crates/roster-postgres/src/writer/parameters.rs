//! The rows that a batch writes, as columns: each is an array, and one parameter of a statement.

use std::{error::Error, sync::Arc};

use bytes::BytesMut;
use roster_core::{
    Change, Event, GroupId, Member, SearchKeys, Status, TenantId, UserId, event::changed_text,
};
use roster_engine::{GroupWrite, NewIdempotencyRecord, kind_number};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

use super::steps::Parameter;
use crate::columns::{sort_text, uuid};

pub(super) type Columns<'w> = Vec<Parameter<'w>>;

/// A record, which is a text of the database. The database checks that it is UTF-8.
#[derive(Debug)]
struct Record<'w>(&'w [u8]);

impl ToSql for Record<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0);
        Ok(IsNull::No)
    }

    accepts!(TEXT);
    to_sql_checked!();
}

fn column<'w, R, T>(rows: &'w [R], value: impl Fn(&'w R) -> T) -> Parameter<'w>
where
    Vec<T>: ToSql + Sync + Send + 'w,
{
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

fn plain(key: Option<&String>) -> Option<&[u8]> {
    key.map(String::as_bytes)
}

pub(super) fn users<'w>(rows: &'w [&Change]) -> Columns<'w> {
    vec![
        column(rows, |row| uuid(row.user.id)),
        column(rows, |row| row.user.version),
        column(rows, |row| i16::from(row.user.status == Status::Suspended)),
        column(rows, |row| row.user.updated_at.as_millis()),
        column(rows, |row| row.keys.username.as_bytes()),
        column(rows, |row| sort_text(row.keys.email.as_deref())),
        column(rows, |row| plain(row.keys.phone_number.as_ref())),
        column(rows, |row| plain(row.keys.external_id.as_ref())),
        column(rows, |row| sort_text(row.keys.family_name.as_deref())),
        column(rows, |row| sort_text(row.keys.name.as_deref())),
        column(rows, |row| sort_text(row.keys.expires_at.as_deref())),
        column(rows, |row| Record(&row.record)),
    ]
}

pub(super) fn deleted_users<'w>(rows: &'w [&Change]) -> Columns<'w> {
    vec![
        column(rows, |row| uuid(row.user.id)),
        column(rows, |row| row.user.version),
        column(rows, |row| row.user.updated_at.as_millis()),
        column(rows, |row| row.keys.username.as_bytes()),
        column(rows, |row| plain(row.keys.email.as_ref())),
        column(rows, |row| plain(row.keys.external_id.as_ref())),
        column(rows, |row| Record(&row.record)),
    ]
}

pub(super) fn tenant(tenant: TenantId) -> Parameter<'static> {
    Box::new(tenant.number())
}

/// Single numbers: each is a parameter.
pub(super) fn numbers(numbers: &[i64]) -> Columns<'_> {
    numbers.iter().map(|number| -> Parameter<'_> { Box::new(*number) }).collect()
}

pub(super) fn ids(rows: &[UserId]) -> Columns<'_> {
    vec![column(rows, |id| uuid(*id))]
}

pub(super) type Word<'w> = (&'w [u8], Uuid);

pub(super) type FurtherKey<'w> = (i16, &'w [u8], Uuid);

/// Appends the rows of a user's search keys.
pub(super) fn push_search_keys<'w>(
    (words, further_keys): &mut (Vec<Word<'w>>, Vec<FurtherKey<'w>>),
    id: UserId,
    keys: &'w SearchKeys,
) {
    let id = uuid(id);
    words.extend(keys.words.iter().map(|word| (word.as_bytes(), id)));
    let keys = roster_engine::further_keys(keys);
    further_keys.extend(keys.map(|(kind, key)| (kind, key.as_bytes(), id)));
}

pub(super) fn words<'w>(rows: &'w [Word<'w>]) -> Columns<'w> {
    vec![column(rows, |row| row.0), column(rows, |row| row.1)]
}

pub(super) fn further_keys<'w>(rows: &'w [FurtherKey<'w>]) -> Columns<'w> {
    vec![column(rows, |row| row.0), column(rows, |row| row.1), column(rows, |row| row.2)]
}

/// The columns of `events`. The first is the number of the event in the batch.
pub(super) fn events(rows: &[Arc<Event>]) -> Columns<'_> {
    let numbers: Vec<i64> = (1..).zip(rows).map(|(number, _)| number).collect();
    vec![
        Box::new(numbers),
        column(rows, |row| row.kind.as_str()),
        column(rows, |row| row.at.as_millis()),
        column(rows, |row| row.actor.as_str()),
        column(rows, |row| row.request_id.as_str()),
        column(rows, |row| uuid(row.user_id)),
        column(rows, |row| row.version),
        column(rows, |row| changed_text(&row.changed, &row.members)),
        column(rows, |row| Record(&row.record)),
    ]
}

pub(super) type Idempotency<'w> = (&'w [u8; 32], &'w NewIdempotencyRecord);

/// The columns of `idempotency_keys`. The position of a record is given as the number of its event
/// in the batch. Only the record of a request that changed nothing has a text: the other records
/// are in the events.
pub(super) fn idempotency<'w>(rows: &'w [Idempotency<'w>]) -> Columns<'w> {
    vec![
        column(rows, |(key, _)| key.as_slice()),
        column(rows, |(_, new)| new.fingerprint.as_slice()),
        column(rows, |(_, new)| new.at.as_millis()),
        column(rows, |(_, new)| uuid(new.stored.id)),
        column(rows, |(_, new)| new.stored.version),
        column(rows, |(_, new)| new.nth),
        column(rows, |(_, new)| new.effect_and_record().0),
        column(rows, |(_, new)| new.effect_and_record().1.map(Record)),
    ]
}

/// The column of the keys whose expired records are deleted.
pub(super) fn expired<'w>(rows: &'w [Idempotency<'w>]) -> Columns<'w> {
    vec![column(rows, |(key, _)| key.as_slice())]
}

pub(super) fn groups<'w>(rows: &'w [&GroupWrite]) -> Columns<'w> {
    vec![
        column(rows, |row| uuid(row.change.group.id)),
        column(rows, |row| row.change.group.version),
        column(rows, |row| row.members),
        column(rows, |row| row.change.group.name_key().into_bytes()),
        column(rows, |row| plain(row.change.group.external_id.as_ref())),
        column(rows, |row| Record(&row.change.record)),
    ]
}

pub(super) fn added_members(rows: &[(GroupId, Member)]) -> Columns<'_> {
    vec![
        column(rows, |(group, _)| uuid(*group)),
        column(rows, |(_, member)| uuid(member.id)),
        column(rows, |(_, member)| kind_number(member.kind)),
    ]
}

pub(super) fn removed_members(rows: &[(GroupId, UserId)]) -> Columns<'_> {
    vec![column(rows, |(group, _)| uuid(*group)), column(rows, |(_, member)| uuid(*member))]
}
