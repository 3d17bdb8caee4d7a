/** Defaults of `millrace sync push`, which its help names without loading the engine. */

/** Hosts that are worked on at a time. */
export const PARALLEL = 8;
/** Program that reaches hosts. It asks no questions: several hosts would ask them at a time. */
export const SSH: readonly string[] = ['ssh', '-T', '-o', 'BatchMode=yes'];
