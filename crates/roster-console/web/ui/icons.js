// Icons of Lucide (ISC, vendor/lucide-LICENSE). Only the paths are kept; CSS sets size and stroke.
import { html, svg } from "../vendor/lit-html/lit-html.js";

const PATHS = {
    search: svg`<path d="m21 21-4.34-4.34"/><circle cx="11" cy="11" r="8"/>`,
    users: svg`
        <path d="M16 21v-2a4 4 0 0 0-4-4H6a4 4 0 0 0-4 4v2"/>
        <path d="M16 3.128a4 4 0 0 1 0 7.744"/>
        <path d="M22 21v-2a4 4 0 0 0-3-3.87"/>
        <circle cx="9" cy="7" r="4"/>`,
    user: svg`<path d="M19 21v-2a4 4 0 0 0-4-4H9a4 4 0 0 0-4 4v2"/><circle cx="12" cy="7" r="4"/>`,
    groups: svg`
        <path d="M2.97 12.92A2 2 0 0 0 2 14.63v3.24a2 2 0 0 0 .97 1.71l3 1.8a2 2 0 0 0 2.06 0L12
        19v-5.5l-5-3-4.03 2.42Z"/>
        <path d="m7 16.5-4.74-2.85"/>
        <path d="m7 16.5 5-3"/>
        <path d="M7 16.5v5.17"/>
        <path d="M12 13.5V19l3.97 2.38a2 2 0 0 0 2.06 0l3-1.8a2 2 0 0 0 .97-1.71v-3.24a2 2 0 0
        0-.97-1.71L17 10.5l-5 3Z"/>
        <path d="m17 16.5-5-3"/>
        <path d="m17 16.5 4.74-2.85"/>
        <path d="M17 16.5v5.17"/>
        <path d="M7.97 4.42A2 2 0 0 0 7 6.13v4.37l5 3 5-3V6.13a2 2 0 0 0-.97-1.71l-3-1.8a2 2 0 0
        0-2.06 0l-3 1.8Z"/>
        <path d="M12 8 7.26 5.15"/>
        <path d="m12 8 4.74-2.85"/>
        <path d="M12 13.5V8"/>`,
    trash: svg`
        <path d="M10 11v6"/>
        <path d="M14 11v6"/>
        <path d="M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6"/>
        <path d="M3 6h18"/>
        <path d="M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2"/>`,
    activity: svg`
        <path d="M22 12h-2.48a2 2 0 0 0-1.93 1.46l-2.35 8.36a.25.25 0 0 1-.48 0L9.24 2.18a.25.25 0
        0 0-.48 0l-2.35 8.36A2 2 0 0 1 4.49 12H2"/>`,
    upload: svg`
        <path d="M12 3v12"/>
        <path d="m17 8-5-5-5 5"/>
        <path d="M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4"/>`,
    download: svg`
        <path d="M12 15V3"/>
        <path d="M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4"/>
        <path d="m7 10 5 5 5-5"/>`,
    key: svg`
        <path d="M2.586 17.414A2 2 0 0 0 2 18.828V21a1 1 0 0 0 1 1h3a1 1 0 0 0 1-1v-1a1 1 0 0 1
        1-1h1a1 1 0 0 0 1-1v-1a1 1 0 0 1 1-1h.172a2 2 0 0 0 1.414-.586l.814-.814a6.5 6.5 0 1
        0-4-4z"/>
        <circle cx="16.5" cy="7.5" r=".5" fill="currentColor"/>`,
    sync: svg`
        <path d="M3 12a9 9 0 0 1 9-9 9.75 9.75 0 0 1 6.74 2.74L21 8"/>
        <path d="M21 3v5h-5"/>
        <path d="M21 12a9 9 0 0 1-9 9 9.75 9.75 0 0 1-6.74-2.74L3 16"/>
        <path d="M8 16H3v5"/>`,
    webhook: svg`
        <path d="M18 16.98h-5.99c-1.1 0-1.95.94-2.48 1.9A4 4 0 0 1 2 17c.01-.7.2-1.4.57-2"/>
        <path d="m6 17 3.13-5.78c.53-.97.1-2.18-.5-3.1a4 4 0 1 1 6.89-4.06"/>
        <path d="m12 6 3.13 5.73C15.66 12.7 16.9 13 18 13a4 4 0 0 1 0 8"/>`,
    building: svg`
        <path d="M10 12h4"/>
        <path d="M10 8h4"/>
        <path d="M14 21v-3a2 2 0 0 0-4 0v3"/>
        <path d="M6 10H4a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2V9a2 2 0 0 0-2-2h-2"/>
        <path d="M6 21V5a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v16"/>`,
    plus: svg`<path d="M5 12h14"/><path d="M12 5v14"/>`,
    x: svg`<path d="M18 6 6 18"/><path d="m6 6 12 12"/>`,
    check: svg`<path d="M20 6 9 17l-5-5"/>`,
    more: svg`
        <circle cx="12" cy="12" r="1"/>
        <circle cx="19" cy="12" r="1"/>
        <circle cx="5" cy="12" r="1"/>`,
    menu: svg`<path d="M4 5h16"/><path d="M4 12h16"/><path d="M4 19h16"/>`,
    up: svg`<path d="m18 15-6-6-6 6"/>`,
    down: svg`<path d="m6 9 6 6 6-6"/>`,
    left: svg`<path d="m15 18-6-6 6-6"/>`,
    right: svg`<path d="m9 18 6-6-6-6"/>`,
    arrowUp: svg`<path d="m5 12 7-7 7 7"/><path d="M12 19V5"/>`,
    arrowDown: svg`<path d="M12 5v14"/><path d="m19 12-7 7-7-7"/>`,
    pause: svg`
        <circle cx="12" cy="12" r="10"/>
        <line x1="10" x2="10" y1="15" y2="9"/>
        <line x1="14" x2="14" y1="15" y2="9"/>`,
    play: svg`
        <path d="M9 9.003a1 1 0 0 1 1.517-.859l4.997 2.997a1 1 0 0 1 0 1.718l-4.997 2.997A1 1 0 0 1
        9 14.996z"/>
        <circle cx="12" cy="12" r="10"/>`,
    filter: svg`<path d="M2 5h20"/><path d="M6 12h12"/><path d="M9 19h6"/>`,
    code: svg`<path d="m16 18 6-6-6-6"/><path d="m8 6-6 6 6 6"/>`,
    copy: svg`
        <rect width="14" height="14" x="8" y="8" rx="2" ry="2"/>
        <path d="M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2"/>`,
    alert: svg`
        <circle cx="12" cy="12" r="10"/>
        <line x1="12" x2="12" y1="8" y2="12"/>
        <line x1="12" x2="12.01" y1="16" y2="16"/>`,
    warn: svg`
        <path d="m21.73 18-8-14a2 2 0 0 0-3.48 0l-8 14A2 2 0 0 0 4 21h16a2 2 0 0 0 1.73-3"/>
        <path d="M12 9v4"/>
        <path d="M12 17h.01"/>`,
    info: svg`<circle cx="12" cy="12" r="10"/><path d="M12 16v-4"/><path d="M12 8h.01"/>`,
    folder: svg`
        <path d="M12 10v6"/>
        <path d="M9 13h6"/>
        <path d="M20 20a2 2 0 0 0 2-2V8a2 2 0 0 0-2-2h-7.9a2 2 0 0 1-1.69-.9L9.6 3.9A2 2 0 0 0 7.93
        3H4a2 2 0 0 0-2 2v13a2 2 0 0 0 2 2Z"/>`,
    undo: svg`
        <path d="M9 14 4 9l5-5"/>
        <path d="M4 9h10.5a5.5 5.5 0 0 1 5.5 5.5a5.5 5.5 0 0 1-5.5 5.5H11"/>`,
    clock: svg`<circle cx="12" cy="12" r="10"/><path d="M12 6v6l4 2"/>`,
    signOut: svg`
        <path d="m16 17 5-5-5-5"/>
        <path d="M21 12H9"/>
        <path d="M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4"/>`,
    sort: svg`
        <path d="m3 16 4 4 4-4"/>
        <path d="M7 20V4"/>
        <path d="M11 4h10"/>
        <path d="M11 8h7"/>
        <path d="M11 12h4"/>`,
    external: svg`
        <path d="M15 3h6v6"/>
        <path d="M10 14 21 3"/>
        <path d="M18 13v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2h6"/>`,
    edit: svg`
        <path d="M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5
        0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z"/>
        <path d="m15 5 4 4"/>`,
    eye: svg`
        <path d="M2.062 12.348a1 1 0 0 1 0-.696 10.75 10.75 0 0 1 19.876 0 1 1 0 0 1 0 .696 10.75
        10.75 0 0 1-19.876 0"/>
        <circle cx="12" cy="12" r="3"/>`,
    settings: svg`
        <path d="M14 17H5"/>
        <path d="M19 7h-9"/>
        <circle cx="17" cy="17" r="3"/>
        <circle cx="7" cy="7" r="3"/>`,
    rotate: svg`<path d="M3 12a9 9 0 1 0 9-9 9.75 9.75 0 0 0-6.74 2.74L3 8"/><path d="M3 3v5h5"/>`,
    lock: svg`
        <rect width="18" height="11" x="3" y="11" rx="2" ry="2"/>
        <path d="M7 11V7a5 5 0 0 1 10 0v4"/>`,
    keyboard: svg`
        <path d="M10 8h.01"/>
        <path d="M12 12h.01"/>
        <path d="M14 8h.01"/>
        <path d="M16 12h.01"/>
        <path d="M18 8h.01"/>
        <path d="M6 8h.01"/>
        <path d="M7 16h10"/>
        <path d="M8 12h.01"/>
        <rect width="20" height="16" x="2" y="4" rx="2"/>`,
    mail: svg`
        <path d="m22 7-8.991 5.727a2 2 0 0 1-2.009 0L2 7"/>
        <rect x="2" y="4" width="20" height="16" rx="2"/>`,
    logo: svg`
        <path d="M18 21a8 8 0 0 0-16 0"/>
        <circle cx="10" cy="8" r="5"/>
        <path d="M22 20c0-3.37-2-6.5-4-8a5 5 0 0 0-.45-8.3"/>`,
};

/** @typedef {keyof typeof PATHS} IconName */

/** An icon; it is decoration, so say the words beside it. @param {IconName} name */
export const icon = (name) =>
    html`<svg class="i" viewBox="0 0 24 24" aria-hidden="true">${PATHS[name]}</svg>`;
