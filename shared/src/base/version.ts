/** The version of Millrace, as programs tell it; a test holds the packages to it. */
export const VERSION = '0.1.0';
