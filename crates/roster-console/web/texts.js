// Words for times, counts and members. Pure functions; Intl does the formats.

const { rawJSON } = /** @type {any} */ (JSON);
/** JSON with all digits: an integer that no number can hold is a BigInt, written as it was. */
const whole = (_, value, { source = "" } = {}) => (typeof value === "number"
    && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value);
Object.assign(BigInt.prototype, { toJSON() {
    return rawJSON(this);
} });
export const parseJson = (text) => JSON.parse(text, /\d{16}/.test(text) ? whole : undefined);
/** Refuses what would be written as another number, or as null: older browsers lose digits. */
export const toJson = (content) => JSON.stringify(content, (_, value) => {
    if (typeof value === "number" && (!Number.isFinite(value)
        || !rawJSON && Number.isInteger(value) && !Number.isSafeInteger(value))) {
        throw new RangeError(`This browser cannot write all digits of ${value}.`);
    }
    return value;
});

const format = (options) => new Intl.DateTimeFormat("en-GB", options);
const numbers = new Intl.NumberFormat("en-GB");
const days = format({ day: "numeric", month: "short" });
const dates = format({ day: "numeric", month: "short", year: "numeric" });
const clock = format({ hour: "2-digit", minute: "2-digit" });
const exact = format({ dateStyle: "full", timeStyle: "long" });

export const number = (value) => numbers.format(value);
export const count = (value, one, many = `${one}s`) =>
    `${number(value)} ${value === 1 ? one : many}`;
export const total = ({ total: value = undefined, total_relation: relation = "" }) =>
    (value === undefined ? "" : number(value) + (relation === "at_least" ? " or more" : ""));

/** A short time for a column: "now", "2 min", "3 h", "Yesterday", "12 Nov", "12 Nov 2024". */
export function shortTime(time, now = new Date()) {
    const then = new Date(time ?? NaN);
    const seconds = Math.round((now.getTime() - then.getTime()) / 1000);
    const [today, day] = [now, then].map((one) => new Date(one).setHours(0, 0, 0, 0));
    const apart = Math.round((today - day) / 86400000);
    return Number.isNaN(seconds) ? "" : seconds < -5 || (apart && seconds >= 6 * 3600)
        ? (apart === 1 ? "Yesterday"
            : (then.getFullYear() === now.getFullYear() ? days : dates).format(then))
        : seconds < 10 ? "now" : seconds < 60 ? `${seconds} s`
            : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
                : `${Math.floor(seconds / 3600)} h`;
}

/** A time in a sentence: "just now", "2 min ago", "in 3 days", "yesterday, 16:20". */
export function agoTime(time, now = new Date()) {
    const ahead = Math.round((Date.parse(time) - now.getTime()) / 1000);
    const short = shortTime(time, now);
    return ahead > 5 ? `in ${ahead < 3600 ? `${Math.ceil(ahead / 60)} min`
        : ahead < 86400 * 2 ? count(Math.round(ahead / 3600), "hour")
            : count(Math.round(ahead / 86400), "day")}`
        : !short ? "" : short === "now" ? "just now" : / (s|min|h)$/.test(short) ? `${short} ago`
            : `${short.replace("Y", "y")}, ${clock.format(new Date(time))}`;
}

/** "3 Nov 2026", "3 Nov 2026, 09:14", and the whole time, for a title. */
export const date = (time) => (time ? dates.format(new Date(time)) : "");
export const dateTime = (time) => (time ? `${date(time)}, ${clock.format(new Date(time))}` : "");
export const fullTime = (time) => (time ? exact.format(new Date(time)) : "");

/** Initials, for the picture that a person does not have. */
export function initials(name) {
    const [one = ["?"], ...more] = name.split(/[\s._-]+/u).map((word) =>
        [...word.replace(/^[^\p{L}\p{N}]+/u, "")]).filter((word) => word.length);
    return (more.length ? one[0] + more.at(-1)[0] : one.slice(0, 2).join("")).toLocaleUpperCase();
}

export const userName = (user) => user.name || user.display_name
    || [user.given_name, user.family_name].filter(Boolean).join(" ")
    || user.username || user.email || user.id || "";
export const shortId = (id) => (id.length > 24 ? `${id.slice(0, 13)}…${id.slice(-6)}` : id);

const LABELS = { __proto__: null, id: "Id", name: "Full name", email: "E-mail",
    emails: "E-mail addresses", email_verified: "E-mail is verified", phone_number: "Telephone",
    phone_numbers: "Telephone numbers", phone_number_verified: "Telephone is verified",
    locale: "Language", zoneinfo: "Time zone", profile: "Profile page", photos: "Pictures",
    expires_at: "Ends at", user_type: "Kind of user", ims: "Instant messaging", url: "URL",
    batch_max: "Events a request", users_max: "User limit", x509_certificates: "Certificates",
    created_at: "Created", updated_at: "Updated", deleted_at: "Deleted", purge_at: "Erased at",
    honorific_prefix: "Title before the name", honorific_suffix: "Title after the name" };

/** The words for a member: "given_name" -> "Given name". */
export function label(member) {
    const words = member.replace(/^attributes[./]/, "").replaceAll("_", " ");
    return LABELS[member] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The words for a pointer: "/attributes/team" -> "Team". */
export const pointerLabel = (pointer) => (!pointer.startsWith("/manager/") ? label(pointer.slice(1))
    : `Manager: ${label(pointer.slice(9)).toLowerCase()}`.replace(": display name", ""));

/** Texts of values beside each other: as JSON if different ones would look alike. */
export function textsOf(values) {
    const [texts, exact] = [values.map(valueText), values.map((value) => JSON.stringify(value))];
    return new Set(texts).size === new Set(exact).size ? texts
        : exact.map((text) => text ?? "");
}

/** Never String of an object: its member toString may be anything. */
export function valueText(/** @type {any} */ value) {
    const short = value?.value ?? value?.display_name ?? value?.formatted;
    return Array.isArray(value) ? value.map(valueText).join(", ")
        : typeof value === "boolean" ? (value ? "yes" : "no")
            : value && typeof value === "object" ? (typeof (short ?? {}) === "object"
                ? JSON.stringify(value) : String(short)) : String(value ?? "");
}
