/** Chooses the Node that runs the daemon. */

/**
 * Oldest usable major version of Node: it runs the daemon's TypeScript directly, and has SQLite.
 */
const NODE_MAJOR = 24;

export interface Surroundings {
  /** MILLRACE_NODE: a Node to run the daemon with. */
  readonly node: string | undefined;
  /** Electron's own program, and the version of its Node, such as `24.1.0`. */
  readonly electron: string;
  readonly electronNode: string;
  /** The daemon's main file. */
  readonly main: string;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables besides the shell's own. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Returns the program that runs the daemon: a Node from the environment comes first; otherwise
 * Electron runs as Node where it is new enough.
 *
 * @returns undefined if there is no usable Node
 */
export function daemonProgram({
  node,
  electron,
  electronNode,
  main,
}: Surroundings): Program | undefined {
  if (node !== undefined && node !== '') return { command: node, args: [main], env: {} };
  if (Number(electronNode.split('.')[0]) < NODE_MAJOR) return undefined;
  return { command: electron, args: [main], env: { ELECTRON_RUN_AS_NODE: '1' } };
}
