/** Links to a file at the nearest edge: `/-/near/URL` at any edge of a network. */

/** Beginning of the targets; the target of the file itself follows. */
export const NEAR_PATH = '/-/near';
