/**
 * Pages of the project on the web, which programs and packages lead people to. RELEASING.md lists
 * them for whoever holds the domain; another domain is set here.
 */

/** The project's site, which packages name as their home page. */
export const SITE = 'https://millrace.dev/';
/** Says how to install the app, for the visitor's own system. */
export const INSTALL_PAGE = `${SITE}install/`;
/** Leads to the extension's page in the store of the visitor's own browser. */
export const EXTENSION_PAGE = `${SITE}extension/`;
/** Name and address of the makers of packages, which packages have to name. */
export const PACKAGER = { name: 'Millrace', email: 'packages@millrace.dev' } as const;
/** A file of 10 MB that a hoster offers for trying one's line. */
export const TEST_FILE = 'https://proof.ovh.net/files/10Mb.dat';
