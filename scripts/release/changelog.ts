/** Reads the section of a version from CHANGELOG.md, and heads the newest one when a version is set. */

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

/** Heading of a section: its version, and its day or the mark that it has none. */
const HEADING = /^## (\S+) \((\d{4}-\d{2}-\d{2}|unreleased)\)$/m;

/**
 * Heads the newest section with a version and its day, if that section is not released yet, or is that
 * of a candidate of this version, such as 1.2.3-rc.1 of 1.2.3. A section of the version itself that
 * has its day stays as it is.
 *
 * @param day such as 2026-11-27
 * @throws Error if there is nothing that is not released
 */
export function withVersionNamed(changelog: string, version: string, day: string): string {
  const [heading = '', named = '', word] = HEADING.exec(changelog) ?? [];
  const isOpen = word === 'unreleased' || named.startsWith(`${version}-`);
  if (isOpen) return changelog.replace(heading, () => `## ${version} (${day})`);
  if (named === version) return changelog;
  throw new Error(
    `CHANGELOG.md has nothing for ${version}: begin a section "## ${version} (unreleased)"`,
  );
}
