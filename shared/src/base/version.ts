/** The version of Millrace that programs report; a test checks that all packages have it. */
export const VERSION = '0.1.0';
