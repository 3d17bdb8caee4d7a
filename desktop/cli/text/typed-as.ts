/**
 * Names this program in hints as its user types it: in a clone of the repository the shell has no
 * command `millrace`, and scripts/run.mjs says what to type instead.
 */

/** Environment variable of scripts/run.mjs. */
const VARIABLE = 'MILLRACE_TYPED_AS';

/**
 * Replaces the name of the program before the command of a hint.
 *
 * @param text one of our own: text of strangers is no hint
 */
export function typedAs(text: string, name = process.env[VARIABLE]): string {
  return name
    ? text.replace(/(^|["\s(])millrace (?=[a-z])/g, (_, before) => `${before}${name} `)
    : text;
}
