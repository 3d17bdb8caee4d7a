/** See `pnpm.mjs`. */
export const PNPM: string;
