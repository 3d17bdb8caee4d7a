/** The extension's manifest, for Chromium and Firefox. */

/**
 * The key gives the extension the same identity wherever it is loaded from, which is what the native
 * host knows it by. It signs nothing.
 */
const CHROMIUM_KEY =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsY/YqQbYd4Qa+fKzj8c0X5KGqMDWxVC56UYW8mbXtrMkefy+8bIUdiBS1NF+lttVm+6blFmmje1VlTqQQaDsHJ2Fi78DeH1Y8HTFs0cNTxrXrHq7T9AWu5++Tg8tm1dEsqGJiFAKZVaWoS9uhpV+1zniXNhSrNeRZ3UmcM09IswCwJ4vz5Fee0Z5KpeWX2Am2DrquY1btCZzYAXjZ68XZ6Ug7qoMA47w9t8KRMFXJCCQ1swId0wwiMwAp+D9imXTVzBku4O13xSJZBL74G0r0iqLn+iMb6bt9YQFuoEl2PCVJB9PhDQHkf70UIn/I8iCmQGNUVCAF5C3y1uXA6YhvQIDAQAB';

const FIREFOX_ID = 'millrace@millrace.dev';

/**
 * @param browser 'chromium' or 'firefox'
 * @param version of the project
 */
export function manifest(browser, version) {
  const common = {
    manifest_version: 3,
    name: 'Millrace',
    version,
    description: 'Downloads large files fast, safely, and resumably',
    permissions: ['downloads', 'nativeMessaging', 'storage', 'webRequest'],
    host_permissions: ['<all_urls>'],
  };
  if (browser === 'firefox') {
    return {
      ...common,
      browser_specific_settings: { gecko: { id: FIREFOX_ID, strict_min_version: '128.0' } },
      background: { scripts: ['background.js'], type: 'module' },
    };
  }
  return {
    ...common,
    key: CHROMIUM_KEY,
    minimum_chrome_version: '120',
    background: { service_worker: 'background.js', type: 'module' },
  };
}
