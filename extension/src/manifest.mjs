/** The extension's manifest, for Chromium and Firefox. */

/**
 * Key that gives the extension the same identity wherever it is loaded from; the native host knows
 * the extension by that identity. The key signs nothing.
 */
const CHROMIUM_KEY =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsY/YqQbYd4Qa+fKzj8c0X5KGqMDWxVC56UYW8mbXtrMkefy+8bIUdiBS1NF+lttVm+6blFmmje1VlTqQQaDsHJ2Fi78DeH1Y8HTFs0cNTxrXrHq7T9AWu5++Tg8tm1dEsqGJiFAKZVaWoS9uhpV+1zniXNhSrNeRZ3UmcM09IswCwJ4vz5Fee0Z5KpeWX2Am2DrquY1btCZzYAXjZ68XZ6Ug7qoMA47w9t8KRMFXJCCQ1swId0wwiMwAp+D9imXTVzBku4O13xSJZBL74G0r0iqLn+iMb6bt9YQFuoEl2PCVJB9PhDQHkf70UIn/I8iCmQGNUVCAF5C3y1uXA6YhvQIDAQAB';

const FIREFOX_ID = 'millrace@millrace.dev';

/** Forbids foreign scripts, and markup written into pages; downloading needs connections. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "worker-src 'self'",
  "child-src 'self'",
  'connect-src http: https:',
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sizes of the icon in the toolbar, menus and the browser's list of extensions, in pixels. */
export const ICON_SIZES = [16, 32, 48, 128];

/** Permissions that the extension requests; extension/README.md has a reason for each. */
const PERMISSIONS = [
  'alarms',
  'contextMenus',
  'cookies',
  'downloads',
  'nativeMessaging',
  'notifications',
  'scripting',
  'storage',
  'unlimitedStorage',
  'webRequest',
];

/**
 * Returns the manifest for a browser.
 *
 * @param browser 'chromium' or 'firefox'
 * @param version version of the project
 * @param has tells whether the extension has a file; missing files are not named
 */
export function manifest(browser, version, has) {
  const icons = Object.fromEntries(
    ICON_SIZES.map((size) => [size, `icons/${size}.png`]).filter(([, path]) => has(path)),
  );
  const locales = has('_locales/en/messages.json');
  const common = {
    manifest_version: 3,
    name: 'Millrace',
    // Browsers take numbers only, without the mark of a candidate such as 1.2.3-rc.1.
    version: version.replace(/-.*/, ''),
    description: locales
      ? '__MSG_extensionDescription__'
      : 'Downloads large files fast, safely, and resumably',
    ...(locales ? { default_locale: 'en' } : {}),
    icons,
    action: {
      default_title: 'Millrace',
      default_icon: icons,
      ...(has('popup.html') ? { default_popup: 'popup.html' } : {}),
    },
    ...(has('options.html') ? { options_ui: { page: 'options.html', open_in_tab: true } } : {}),
    // The extension must not see private windows.
    incognito: 'not_allowed',
    permissions: PERMISSIONS,
    host_permissions: ['<all_urls>'],
    content_scripts: has('skip-key.js')
      ? [{ matches: ['http://*/*', 'https://*/*'], js: ['skip-key.js'], all_frames: true }]
      : [],
    content_security_policy: { extension_pages: CSP },
  };
  if (browser === 'firefox') {
    return {
      ...common,
      browser_specific_settings: {
        gecko: {
          id: FIREFOX_ID,
          strict_min_version: '142.0',
          data_collection_permissions: { required: ['none'] },
        },
      },
      background: { scripts: ['background.js'], type: 'module' },
    };
  }
  return {
    ...common,
    ...(version.includes('-') ? { version_name: version } : {}),
    key: CHROMIUM_KEY,
    minimum_chrome_version: '120',
    permissions: has('offscreen.html') ? [...PERMISSIONS, 'offscreen'].sort() : PERMISSIONS,
    background: { service_worker: 'background.js', type: 'module' },
  };
}
