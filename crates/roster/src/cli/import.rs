//! `roster import`: creates a data directory from a file of users.
//!
//! The file is the body of one `POST /bulk/users`, which this process sends to itself: the service
//! over a store that is being filled. The store gets its place in the data directory only once the
//! whole file was read.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, bail};
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode, header};
use clap::Args;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use roster_core::{Json, json};
use roster_sqlite::Load;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use url::form_urlencoded::Serializer;

use super::{asking, print, say, warn_of_others};
use crate::config::{BaseUrl, Config, Given};
use crate::data_dir::DataDir;
use crate::engine::{Engine, sqlite_settings};
use crate::service::Service;
use roster_cli::{ImportFlags, Progress};

/// Exit status if the store was created without some lines of the file.
const EXIT_REFUSED: u8 = 7;

/// Bytes that are read at a time, and how many of these are read ahead.
const CHUNK: usize = 256 * 1024;
const CHUNKS_AHEAD: usize = 4;

/// What the result of a refused line has. No other result has a text of a user.
const PROBLEM: &[u8] = b"\"problem\":";

/// What the result of a line has whose id was not kept.
const IGNORED_ID: &[u8] = b"\"ignored\":[\"id\"]";

/// The flags of `roster import`.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Create this data directory from the file, without a service; it has no database yet
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "on_conflict", "match_by", "dry_run", "faults", "resume", "restart", "url", "profile",
            "key_file", "tenant", "allow_http",
        ],
        help_heading = "Create a data directory"
    )]
    data: Option<PathBuf>,

    /// Read settings from this TOML file [env: ROSTER_CONFIG]
    #[arg(long, value_name = "FILE", requires = "data", help_heading = "Create a data directory")]
    config: Option<PathBuf>,

    #[command(flatten)]
    import: ImportFlags,
}

/// The totals of the request.
struct Totals {
    created: i64,
    refused: i64,
    /// How many users have another id than their lines.
    renumbered: u64,
}

/// Imports the file into a service, or into a new data directory.
pub(super) fn run(flags: Flags) -> anyhow::Result<ExitCode> {
    match flags.data {
        Some(data) => create(&data, flags.config, &flags.import),
        None => asking(|| roster_cli::import(flags.import)),
    }
}

/// Creates a data directory and prints the results of refused lines.
fn create(
    data: &Path,
    config_file: Option<PathBuf>,
    flags: &ImportFlags,
) -> anyhow::Result<ExitCode> {
    if Config::environment_names_tenant() {
        bail!("a new data directory has only the default tenant: unset ROSTER_TENANT");
    }
    let given = ("data", data.as_os_str().to_owned());
    let given = Given { flags: vec![given], config_file, dev: false };
    let (mut config, _) = Config::load(&given)?;
    // These are for callers of a service, and the request has no credential.
    (config.rate_limit_per_s, config.log_bytes_per_hour) = (0, 0);
    (config.first_key_file, config.jwt_issuer) = (None, Vec::new());
    let source = Source::open(&flags.file)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    let directory = DataDir::open(&config.data)?;
    warn_of_others(&directory);
    let imported = runtime.block_on(import(flags, &config, directory.path(), source));
    // A thread may still wait for stdin.
    runtime.shutdown_background();
    directory.close(imported.is_err())?;
    let Totals { created, refused, renumbered } = imported?;
    let path = data.display();
    if renumbered > 0 {
        let hint = if flags.is_csv() { ", --map id:external_id stores them" } else { "" };
        say(&format!("note: ids that are not kept: {renumbered}; --keep-ids keeps them{hint}"));
    }
    if refused == 0 {
        say(&format!("{path}: {created} users"));
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("{path}: {created} users; {refused} lines were refused, see their results"));
    Ok(ExitCode::from(EXIT_REFUSED))
}

async fn import(
    flags: &ImportFlags,
    config: &Config,
    data: &Path,
    source: Source,
) -> anyhow::Result<Totals> {
    let load = Load::begin(sqlite_settings(config, data))?;
    let engine = Engine::Sqlite(Arc::new(load.store().clone()));
    let base_url = BaseUrl::of_address(config.listen, false);
    let service = Service::over(engine, config, load.directory(), &base_url, false).await?;
    let totals = send(flags, &service, source).await?;
    if totals.created == 0 {
        bail!("no user could be created, so there is no new database");
    }
    say("making the indexes");
    load.finish().await?;
    Ok(totals)
}

/// Sends the request, prints the results of refused lines, and returns the totals.
async fn send(flags: &ImportFlags, service: &Service, source: Source) -> anyhow::Result<Totals> {
    let (read, name) = (Arc::clone(&source.read), flags.file.display().to_string());
    let mut progress = source.bytes.map(|bytes| Progress::begin("bytes read", bytes, 0));
    let request = Request::post(target(flags))
        .header(header::HOST, "127.0.0.1")
        .header(header::CONTENT_TYPE, media(flags))
        .header(header::ACCEPT, "application/x-ndjson");
    let response = service.respond(request.body(source.into_body())?).await;
    let is_refused = response.status() != StatusCode::OK;
    let mut body = response.into_body().into_data_stream();
    let (mut results, mut totals, mut renumbered) = (Vec::new(), None, 0);
    while let Some(piece) = body.next().await {
        results.extend_from_slice(&piece.context("the import ended early: no database was made")?);
        if is_refused {
            continue;
        }
        let end = results.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = results.drain(..end).collect();
        for line in lines.split(|byte| *byte == b'\n') {
            if line.starts_with(b"{\"done\":") {
                let (created, refused) = (number(line, "created")?, number(line, "failed")?);
                totals = Some(Totals { created, refused, renumbered });
            } else if line.windows(IGNORED_ID.len()).any(|part| part == IGNORED_ID) {
                renumbered += 1;
            } else if line.windows(PROBLEM.len()).any(|part| part == PROBLEM) {
                let printed = print(&String::from_utf8_lossy(line));
                printed.context("the results cannot be written to stdout: no database was made")?;
                if number(line, "status")? >= 500 {
                    bail!("a line could not be stored, see its result: no database was made");
                }
            }
        }
        if let Some(progress) = &mut progress {
            progress.reach(read.load(Ordering::Relaxed), &name);
        }
    }
    if is_refused {
        bail!("{}", flags.refusal(&results));
    }
    if let Some(progress) = progress {
        progress.end();
    }
    totals.context("the import ended early: no database was made")
}

/// A number in a result.
fn number(result: &[u8], member: &str) -> anyhow::Result<i64> {
    let result = json::read(result).map_err(|fault| anyhow::anyhow!(fault.detail))?;
    match result.member(member) {
        Some(Json::Int(number)) => Ok(*number),
        _ => bail!("a result has no {member}"),
    }
}

fn media(flags: &ImportFlags) -> &'static str {
    if flags.is_csv() { "text/csv" } else { "application/x-ndjson" }
}

/// The path and the query of the request.
fn target(flags: &ImportFlags) -> String {
    let mut query = Serializer::for_suffix(String::from("/bulk/users?"), "/bulk/users?".len());
    if flags.keep_ids {
        query.append_pair("keep_ids", "true");
    }
    query.extend_pairs(flags.map.iter().map(|map| ("map", map)));
    query.finish()
}

/// The file to import.
struct Source {
    input: Box<dyn Read + Send>,
    /// Its size, if it has one.
    bytes: Option<u64>,
    /// How much of it was read.
    read: Arc<AtomicU64>,
}

impl Source {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let read = Arc::default();
        if path.as_os_str() == "-" {
            return Ok(Self { input: Box::new(io::stdin()), bytes: None, read });
        }
        let unreadable = || format!("{} cannot be read", path.display());
        let file = File::open(path).with_context(unreadable)?;
        let found = file.metadata().with_context(unreadable)?;
        if found.is_dir() {
            bail!("{} is a directory", path.display());
        }
        let bytes = found.is_file().then_some(found.len());
        Ok(Self { input: Box::new(file), bytes, read })
    }

    /// A body of the bytes. A thread reads them.
    fn into_body(self) -> Body {
        let Self { mut input, read, .. } = self;
        let (sender, chunks) = mpsc::channel::<io::Result<Bytes>>(CHUNKS_AHEAD);
        thread::spawn(move || {
            loop {
                let mut chunk = Vec::with_capacity(CHUNK);
                let limit = u64::try_from(CHUNK).unwrap_or(u64::MAX);
                let got = input.by_ref().take(limit).read_to_end(&mut chunk);
                read.fetch_add(u64::try_from(chunk.len()).unwrap_or(0), Ordering::Relaxed);
                let piece = match got {
                    Ok(0) => return,
                    got => got.map(|_| Bytes::from(chunk)),
                };
                let is_broken = piece.is_err();
                if sender.blocking_send(piece).is_err() || is_broken {
                    return;
                }
            }
        });
        Body::from_stream(unfold(chunks, async |mut chunks| Some((chunks.recv().await?, chunks))))
    }
}
