/** Says in plain words why a file cannot be read. */

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no file{path}',
  ENOTDIR: 'there is no file{path}',
  EACCES: 'this user may not read{path}',
  EPERM: 'this user may not read{path}',
  EISDIR: 'it is a folder',
};

/**
 * Describes a failed read, without Node's own words: a clause without a full stop. A failure of
 * a parser, which has no code, keeps its message.
 */
export function fileWords(error: unknown): string {
  const { code, path, message } = Object(error) as NodeJS.ErrnoException;
  if (typeof code !== 'string') return String(message ?? error);
  const where = path === undefined ? '' : ` ${path}`;
  const words = WORDS[code]?.replace('{path}', where) ?? `the system cannot read${where}`;
  return `${words} (${code})`;
}
