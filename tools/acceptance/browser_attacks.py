"""Attacks of a web page on a service on the same machine.

Each attack is a script that a page runs. It gets `T` (the service's URL), `O` (the attacker's URL),
`U` (the path of a user), `D` (the path of a deleted user) and `K` (a leaked key), and returns the
data that it could read. Its requests are listed, so that an attack whose requests never left the
browser is noticed.
"""

from dataclasses import dataclass

# Helpers of every script. After a failed step, an attack continues with the next one.
PRELUDE = """
const JSON_USER = JSON.stringify({username: 'mallory', name: 'Mallory'});
const JSON_KEY = JSON.stringify({name: 'mallory', scopes: ['users:read', 'keys:admin']});
const PATHS = ['/users', U, '/bulk/users', '/events', '/deleted-users', '/keys', '/metrics',
               '/openapi.json', '/docs', '/'];
const read = [];
const attempt = async (f) => { try { read.push(String(await f())); } catch (e) {} };
const within = (promise, ms) => Promise.race([promise, new Promise(r => setTimeout(r, ms))]);
const get = (path, how) => attempt(() => fetch(T + path, how).then(r => r.text()));
const send = (method, path, how) => get(path, {method, ...how});
const place = (kind, made) => {
    const element = Object.assign(document.createElement(kind), made);
    const over = new Promise(r => { element.onload = element.onerror = () => r(); });
    document.body.append(element);
    return {element, over};
};
const inside = (frame) => attempt(() => (frame.contentDocument || frame.document).body.innerText);
const form = async (method, enctype, path, fields, target) => {
    const frame = target ? null : place('iframe', {name: 'f' + Math.random()});
    const element = Object.assign(document.createElement('form'), {
        method, enctype, action: path.startsWith('http') ? path : T + path,
        target: target || frame.element.name});
    for (const [name, value] of fields) {
        element.append(Object.assign(document.createElement('textarea'), {name, value}));
    }
    document.body.append(element);
    const over = frame && new Promise(r => { frame.element.onload = () => r(); });
    element.submit();
    await within(over || new Promise(() => {}), target ? 50 : 1500);
    if (frame) { await inside(frame.element); frame.element.remove(); }
    element.remove();
};
const SMUGGLED = [[JSON_USER.slice(0, -1) + ',"given_name":"', '"}']];
"""


@dataclass(frozen=True)
class Attack:
    """One script. `sends` are the methods of its requests. `reads` says where an unprotected
    service would let it read: "anywhere", only with the service's own name ("own"), or nowhere
    ("").
    """

    name: str
    script: str
    sends: tuple = ("GET",)
    reads: str = ""
    needs: str = ""

    def source(self):
        return (
            "async ([T, O, U, D, K]) => {" + PRELUDE + self.script + "\nreturn read.join('\\n'); }"
        )


def elements(kind, made):
    return f"""{{ const it = place('{kind}', {made}); await within(it.over, 1500);
        it.element.remove(); }}"""


ATTACKS = [
    Attack("fetch", "for (const p of PATHS) await get(p);", ("GET",) * 10, "anywhere"),
    Attack("fetch without cors", "for (const p of PATHS) await get(p, {mode: 'no-cors'});",
           ("GET",) * 10, "own"),
    Attack("fetch with credentials", "await get('/users', {credentials: 'include'});",
           reads="anywhere"),
    Attack("fetch with a leaked key",
           "await get('/users', {headers: {authorization: 'Bearer ' + K}});", reads="anywhere"),
    Attack("HEAD", "await send('HEAD', '/users'); await send('HEAD', '/users', {mode: 'no-cors'});",
           ("HEAD", "HEAD")),
    Attack("XMLHttpRequest", """await attempt(() => new Promise((done, failed) => {
        const x = new XMLHttpRequest(); x.open('GET', T + '/users'); x.withCredentials = true;
        x.onload = () => done(x.responseText); x.onerror = failed; x.send(); }));""",
           reads="anywhere"),
    Attack("POST of JSON as text without cors",
           """await send('POST', '/users', {mode: 'no-cors', body: JSON_USER});
        await send('POST', '/keys', {mode: 'no-cors', body: JSON_KEY});""", ("POST", "POST"),
           "own"),
    Attack("POST of JSON as text with cors",
           """await send('POST', '/users', {body: JSON_USER});
        await send('POST', '/keys', {body: JSON_KEY});""", ("POST", "POST"), "anywhere"),
    Attack("POST of JSON without a type",
           """const body = new TextEncoder().encode(JSON_USER);
        await send('POST', '/users', {mode: 'no-cors', body});
        await send('POST', '/users', {mode: 'no-cors', body, keepalive: true});""",
           ("POST", "POST"), "own"),
    Attack("POST without a body", """await send('POST', D + '/restore', {mode: 'no-cors'});
        await send('POST', D + '/restore');""", ("POST", "POST"), "anywhere"),
    Attack("POST of JSON, with preflight", """const headers = {'content-type': 'application/json'};
        await send('POST', '/users', {headers, body: JSON_USER});
        await send('POST', '/keys', {headers, body: JSON_KEY});
        headers['content-type'] = 'application/x-ndjson';
        await send('POST', '/bulk/users', {headers, body: JSON_USER + '\\n'});""", ("POST",) * 3,
           "anywhere"),
    Attack("PUT, PATCH and DELETE, with preflight",
           """const headers = {'content-type': 'application/json', 'if-match': '"1"'};
        await send('PUT', U, {headers, body: JSON_USER});
        await send('PATCH', U, {headers, body: '{"name":"Mallory"}'});
        await send('DELETE', U); await send('DELETE', D);""", ("PUT", "PATCH", "DELETE", "DELETE"),
           "anywhere"),
    Attack("a method in a header",
           "await send('POST', U, {headers: {'x-http-method-override': 'DELETE'}});", ("POST",)),
    Attack("form, urlencoded", """await form('post', 'application/x-www-form-urlencoded', '/users',
        [['username', 'mallory']]); await form('post', '', D + '/restore', []);""",
           ("POST", "POST"), "own"),
    Attack("form, JSON smuggled into text", "await form('post', 'text/plain', '/users', SMUGGLED);",
           ("POST",), "own"),
    Attack("form, multipart",
           "await form('post', 'multipart/form-data', '/users', [['username', 'mallory']]);",
           ("POST",), "own"),
    Attack("form, GET into a frame", "await form('get', '', '/users', [['limit', '5']]);",
           reads="own"),
    Attack("form into a new window",
           "await form('post', 'text/plain', '/users', SMUGGLED, '_blank');", ("POST",),
           needs="windows"),
    Attack("frames", """for (const p of ['/users', '/docs', '/']) {
        const it = place('iframe', {src: T + p}); await within(it.over, 1500);
        await inside(it.element); it.element.remove(); }""", ("GET",) * 3, "own"),
    # Empty until the response is there; then a window of another origin cannot be read.
    Attack("a new window", """const w = window.open(T + '/users');
        for (let n = 0, empty = true; n < 50 && empty; n++) {
            await new Promise(r => setTimeout(r, 100));
            try { empty = !w.document.body?.innerText; } catch { empty = false; } }
        await inside(w); w.close();""", reads="own", needs="windows"),
    Attack("image", elements("img", "{src: T + '/users'}")),
    Attack("script", elements("script", "{src: T + '/users'}")
           + elements("script", "{src: T + '/users', crossOrigin: 'use-credentials'}"),
           ("GET", "GET")),
    Attack("module", "await attempt(() => import(T + '/users?m'));"),
    Attack("style sheet", elements("link", "{rel: 'stylesheet', href: T + '/users'}")),
    Attack("object, embed and video", elements("object", "{data: T + '/users'}")
           + elements("embed", "{src: T + '/users'}")
           + elements("video", "{src: T + '/users', preload: 'auto', autoplay: true}"),
           ("GET", "GET", "GET")),
    Attack("EventSource", """await attempt(() => new Promise((done, failed) => {
        const e = new EventSource(T + '/events'); e.onmessage = (m) => { e.close(); done(m.data); };
        e.onerror = () => { e.close(); failed(); }; }));""", reads="anywhere"),
    Attack("WebSocket", """await attempt(() => new Promise((done, failed) => {
        const w = new WebSocket(T.replace('http', 'ws') + '/users');
        w.onmessage = (m) => done(m.data); w.onerror = w.onclose = failed; }));"""),
    Attack("beacon", """navigator.sendBeacon(T + '/users', JSON_USER);
        navigator.sendBeacon(T + '/users', new Blob([JSON_USER], {type: 'application/json'}));""",
           ("POST", "POST")),
    Attack("ping", """const a = Object.assign(document.createElement('a'),
        {href: '#x', ping: T + D + '/restore'}); document.body.append(a); a.click(); a.remove();""",
           ("POST",), needs="navigation"),
    Attack("redirect of a POST", """
        const to = O + '/redirect?to=' + encodeURIComponent(T + '/users');
        await attempt(() => fetch(to, {method: 'POST', mode: 'no-cors', body: JSON_USER}));
        await form('post', 'text/plain', to, SMUGGLED);""", ("POST", "POST"), needs="own site"),
    Attack("redirect of a GET",
           """const to = O + '/redirect?to=' + encodeURIComponent(T + '/users');
        await attempt(() => fetch(to).then(r => r.text())); """
           + elements("iframe", "{src: to}") + elements("img", "{src: to}"), ("GET",) * 3,
           needs="own site"),
    Attack("worker", """await attempt(() => new Promise((done, failed) => {
        const code = `fetch('${T}/users').then(r => r.text()).then(postMessage,
            () => postMessage(''))`;
        const w = new Worker(URL.createObjectURL(new Blob([code])));
        w.onmessage = (m) => done(m.data); w.onerror = failed; }));""", reads="anywhere"),
    Attack("service worker", """await attempt(async () => {
        const r = await navigator.serviceWorker.register('/worker.js');
        const w = r.active || r.waiting || r.installing;
        const channel = new MessageChannel();
        const answer = new Promise(done => { channel.port1.onmessage = (m) => done(m.data); });
        w.postMessage(T, [channel.port2]);
        const text = await within(answer, 3000);
        await r.unregister();
        return text; });""", ("GET", "POST"), "anywhere", needs="service workers"),
]
