// Words for times, counts and members. Pure functions; Intl does the formats.

const LANGUAGE = "en-GB";
const numbers = new Intl.NumberFormat(LANGUAGE);
const days = new Intl.DateTimeFormat(LANGUAGE, { day: "numeric", month: "short" });
const dates = new Intl.DateTimeFormat(LANGUAGE,
    { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(LANGUAGE, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "full", timeStyle: "long" });

/** 1204 -> "1,204". @param {number} value */
export const number = (value) => numbers.format(value);

/** count(1, "user") -> "1 user"; count(2, "user") -> "2 users".
 * @param {number} value @param {string} one @param {string} [many] */
export const count = (value, one, many = `${one}s`) =>
    `${number(value)} ${value === 1 ? one : many}`;

/** The total of a page, or "10,000 or more".
 * @param {{total?: number, total_relation?: string}} page */
export const total = ({ total: value, total_relation: relation }) =>
    value === undefined ? "" : number(value) + (relation === "at_least" ? " or more" : "");

/** @param {Date} a @param {Date} b */
const dayApart = (a, b) => Math.round(
    (new Date(a).setHours(0, 0, 0, 0) - new Date(b).setHours(0, 0, 0, 0)) / 86400000);

/** A short time for a column: "now", "2 min", "3 h", "Yesterday", "12 Nov", "12 Nov 2024".
 * @param {string | undefined} time @param {Date} [now] */
export function shortTime(time, now = new Date()) {
    const then = time ? new Date(time) : null;
    if (!then || Number.isNaN(then.getTime())) {
        return "";
    }
    const seconds = Math.round((now.getTime() - then.getTime()) / 1000);
    if (seconds >= -5 && seconds < 10) {
        return "now";
    }
    if (seconds > 0 && seconds < 60) {
        return `${seconds} s`;
    }
    if (seconds > 0 && seconds < 3600) {
        return `${Math.floor(seconds / 60)} min`;
    }
    const apart = dayApart(now, then);
    if (seconds > 0 && (apart === 0 || seconds < 6 * 3600)) {
        return `${Math.floor(seconds / 3600)} h`;
    }
    if (apart === 1) {
        return "Yesterday";
    }
    return then.getFullYear() === now.getFullYear() ? days.format(then) : dates.format(then);
}

/** A time in a sentence: "just now", "2 min ago", "in 3 days", "yesterday, 16:20", "12 Nov, 09:14".
 * @param {string | undefined} time @param {Date} [now] */
export function agoTime(time, now = new Date()) {
    const then = time ? new Date(time) : null;
    if (!then || Number.isNaN(then.getTime())) {
        return "";
    }
    const seconds = Math.round((now.getTime() - then.getTime()) / 1000);
    if (seconds < -5) {
        return inTime(-seconds);
    }
    const short = shortTime(time, now);
    if (short === "now") {
        return "just now";
    }
    if (seconds < 6 * 3600 || dayApart(now, then) === 0) {
        return `${short} ago`;
    }
    return `${short === "Yesterday" ? "yesterday" : short}, ${clock.format(then)}`;
}

/** @param {number} seconds */
function inTime(seconds) {
    if (seconds < 3600) {
        return `in ${Math.max(1, Math.round(seconds / 60))} min`;
    }
    return seconds < 86400 * 2
        ? `in ${count(Math.round(seconds / 3600), "hour")}`
        : `in ${count(Math.round(seconds / 86400), "day")}`;
}

/** "3 Nov 2026, 09:14". @param {string | undefined} time */
export const dateTime = (time) =>
    time ? `${dates.format(new Date(time))}, ${clock.format(new Date(time))}` : "";

/** "3 Nov 2026". @param {string | undefined} time */
export const date = (time) => (time ? dates.format(new Date(time)) : "");

/** The whole time, for a title. @param {string | undefined} time */
export const fullTime = (time) => (time ? exact.format(new Date(time)) : "");

/** Initials of a name, for the picture that a person does not have. @param {string} name */
export function initials(name) {
    const words = name.split(/[\s._-]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
    const first = (/** @type {string} */ word) => word.match(/[\p{L}\p{N}]/u)?.[0] ?? "";
    const text = words.length > 1 ? first(words[0]) + first(words[words.length - 1])
        : [...(words[0] ?? "?")].slice(0, 2).join("");
    return text.toLocaleUpperCase();
}

/** The name by which a person recognizes a user.
 * @param {Record<string, any>} user @returns {string} */
export function userName(user) {
    const parts = [user.given_name, user.family_name].filter(Boolean).join(" ");
    return user.name || user.display_name || parts || user.username || user.email || user.id || "";
}

/** The first and the last characters of an id. @param {string} id */
export const shortId = (id) => (id.length > 24 ? `${id.slice(0, 13)}…${id.slice(-6)}` : id);

/** What a member is called on the page. */
const LABELS = /** @type {Record<string, string>} */ ({
    id: "Id", name: "Full name", email: "E-mail", emails: "E-mail addresses",
    email_verified: "E-mail is verified", phone_number: "Telephone",
    phone_numbers: "Telephone numbers", phone_number_verified: "Telephone is verified",
    locale: "Language", preferred_language: "Preferred language", zoneinfo: "Time zone",
    external_id: "External id", profile: "Profile page", picture: "Picture", photos: "Pictures",
    expires_at: "Ends at", user_type: "Kind of user", ims: "Instant messaging",
    x509_certificates: "Certificates", created_at: "Created", updated_at: "Updated",
    deleted_at: "Deleted", purge_at: "Erased at", attributes: "Attributes",
    honorific_prefix: "Title before the name", honorific_suffix: "Title after the name",
});

/** The words for a member: "given_name" -> "Given name". @param {string} member */
export function label(member) {
    if (Object.hasOwn(LABELS, member)) {
        return LABELS[member];
    }
    const words = member.replace(/^attributes[./]/, "").replaceAll("_", " ");
    return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A value in one line. @param {unknown} value @returns {string} */
export function valueText(value) {
    if (value === undefined || value === null || value === "") {
        return "";
    }
    if (Array.isArray(value)) {
        return value.map(valueText).join(", ");
    }
    if (typeof value === "boolean") {
        return value ? "yes" : "no";
    }
    if (typeof value === "object") {
        const entry = /** @type {Record<string, any>} */ (value);
        const main = entry.value ?? entry.display_name ?? entry.formatted;
        return main === undefined ? JSON.stringify(value) : String(main);
    }
    return String(value);
}
