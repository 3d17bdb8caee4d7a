/** Reads the section of a version from CHANGELOG.md. */

export interface Section {
  /** Day of the release, such as 2026-11-27; undefined while it is unreleased. */
  readonly date: string | undefined;
  /** Text below the heading, without it. */
  readonly notes: string;
}

/**
 * Returns the section of a version.
 *
 * @param changelog text with a heading `## VERSION (DATE)` or `## VERSION (unreleased)`
 * @throws Error if there is no such section, or its heading has another form
 */
export function changelogSection(changelog: string, version: string): Section {
  const sections = changelog.split(/^(?=## )/m);
  const own = sections.find((section) => section.startsWith(`## ${version} `));
  if (own === undefined) throw new Error(`CHANGELOG.md has no section of ${version}`);
  const [heading = '', ...lines] = own.split('\n');
  const word = /\((\d{4}-\d{2}-\d{2}|unreleased)\)$/.exec(heading)?.[1];
  if (word === undefined)
    throw new Error(`CHANGELOG.md: "${heading}" names no day, and is not marked as unreleased`);
  return { date: word === 'unreleased' ? undefined : word, notes: `${lines.join('\n').trim()}\n` };
}
