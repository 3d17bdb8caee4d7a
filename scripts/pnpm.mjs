/** The pnpm that installs the dependencies. */
export const PNPM = 'pnpm@12.21.0';
