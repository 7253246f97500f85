//! Fills the service through its own front door, and finds out what the cases need to know.

use std::{fs, net::SocketAddr, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};

use super::{
    Options,
    load::{self, Load},
    process::Server,
    report::say,
    work::{Creates, Fixed, Idempotency, Known},
};

/// Users on the pages that are measured: the default.
const PAGE_SIZE: usize = 50;
/// Starts whose median is the cold start.
const STARTS: usize = 5;

/// Starts the service on a data directory, with more words on its command line.
pub(super) fn start(options: &Options, data: &Path, more: &[&str]) -> Result<Server> {
    let arguments = |address: SocketAddr| {
        let data = data.display().to_string();
        let fixed = ["serve", "--listen", &address.to_string(), "--data", &data].map(String::from);
        fixed.into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect()
    };
    Server::start(&options.roster, arguments, "/users?limit=1")
}

/// Makes the first key of a data directory, which closes it.
pub(super) fn create_key(options: &Options, data: &Path) -> Result<String> {
    let mut command = Command::new(&options.roster);
    command.args(["keys", "create", "bench", "--scope", "all", "--data"]).arg(data);
    let output = command.output()?;
    ensure!(output.status.success(), "no key was made: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Starts the service on a data directory that is closed.
pub(super) fn start_closed(options: &Options, data: &Path) -> Result<Server> {
    let arguments = |address: SocketAddr| {
        let data = data.display().to_string();
        ["serve", "--listen", &address.to_string(), "--data", &data].map(String::from).to_vec()
    };
    Server::start(&options.roster, arguments, "/readyz")
}

/// Creates the users through the front door; then times some starts on what is stored.
pub(super) fn seed(options: &Options, data: &Path) -> Result<(Vec<Known>, Vec<f64>)> {
    let server = start(options, data, &[])?;
    let users = fill(&server, options.users)?;
    server.stop()?;
    let mut cold_start_ms = Vec::new();
    for _ in 0..STARTS {
        let server = start(options, data, &[])?;
        cold_start_ms.push(server.cold_start.as_secs_f64() * 1e3);
        server.stop()?;
    }
    Ok((users, cold_start_ms))
}

/// Creates so many users through the front door.
pub(super) fn fill(server: &Server, end: u64) -> Result<Vec<Known>> {
    say(&format!("seeding {end} users"))?;
    let mut users = Vec::new();
    let idempotency = Idempotency::Unkeyed;
    let host = server.address;
    let mut creates = Creates { host, next: 0, end, idempotency, created: &mut users };
    let load = Load {
        address: server.address,
        process: None,
        connections: 64,
        warm_up: Duration::ZERO,
        measure: Duration::from_hours(1),
    };
    let outcome = load::run(load, &mut creates)?;
    say(&format!("seeded at {:.0} users/s", outcome.rate()))?;
    Ok(users)
}

/// Copies the files of a stopped service.
pub(super) fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The path of the last full page: long steps to its neighbourhood, then page by page.
pub(super) fn last_page(server: &Server) -> Result<String> {
    let mut last = None;
    for limit in [1000, PAGE_SIZE] {
        let mut at = last.clone();
        loop {
            let cursor = at.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let page = get_json(server, &format!("/users?limit={limit}{cursor}"))?;
            let items = page.get("items").and_then(serde_json::Value::as_array);
            if items.map_or(0, Vec::len) < limit {
                break;
            }
            last.clone_from(&at);
            let next = page.get("next_cursor").and_then(serde_json::Value::as_str);
            let Some(next) = next else { break };
            at = Some(next.to_owned());
        }
    }
    let cursor = last.context("fewer users than two pages hold")?;
    Ok(format!("/users?limit={PAGE_SIZE}&cursor={cursor}"))
}

/// The paths of the second page of so many users, each by a cursor of its own.
pub(super) fn second_pages(server: &Server, limit: usize, count: usize) -> Result<Vec<String>> {
    let path = || {
        let page = get_json(server, &format!("/users?limit={limit}"))?;
        let next = page.get("next_cursor").and_then(serde_json::Value::as_str);
        Ok(format!("/users?limit={limit}&cursor={}", next.context("there is one page only")?))
    };
    (0..count).map(|_| path()).collect()
}

fn get_json(server: &Server, path: &str) -> Result<serde_json::Value> {
    struct Once(Fixed, Option<Vec<u8>>);
    impl load::Work for Once {
        fn next(&mut self, request: &mut Vec<u8>) -> bool {
            self.1.is_none() && self.0.next(request)
        }
        fn expected(&self) -> u16 {
            200
        }
        fn answered(&mut self, body: &[u8]) -> Result<()> {
            self.1 = Some(body.to_vec());
            Ok(())
        }
    }
    let mut once = Once(Fixed { host: server.address, path: path.to_owned() }, None);
    let load = Load {
        address: server.address,
        process: None,
        connections: 1,
        warm_up: Duration::ZERO,
        measure: Duration::from_mins(1),
    };
    load::run(load, &mut once)?;
    Ok(serde_json::from_slice(&once.1.context("no answer")?)?)
}
