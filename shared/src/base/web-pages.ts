/** Pages of the project on the web, which programs lead people to. */

/** Says how to install the app, for the visitor's own system. */
export const INSTALL_PAGE = 'https://millrace.dev/install/';
/** Leads to the extension's page in the store of the visitor's own browser. */
export const EXTENSION_PAGE = 'https://millrace.dev/extension/';
/** A file of 10 MB that a hoster offers for trying one's line. */
export const TEST_FILE = 'https://proof.ovh.net/files/10Mb.dat';
