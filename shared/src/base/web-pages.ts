/** Pages of the project on the web, which programs lead people to. */

/** Says how to install the app, for the visitor's own system. */
export const INSTALL_PAGE = 'https://millrace.dev/install/';
/** Leads to the extension's page in the store of the visitor's own browser. */
export const EXTENSION_PAGE = 'https://millrace.dev/extension/';
