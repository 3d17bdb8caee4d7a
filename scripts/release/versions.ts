/** Checks that every place that states the version states the same one. */

import { readFileSync } from 'node:fs';
import { VERSION } from '../../shared/src/base/version.ts';

/** Places by file, each with the patterns that find the version. The first is where it is set. */
const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  'shared/src/base/version.ts': [/VERSION = '([^']+)'/],
  ...Object.fromEntries(
    ['', 'shared/', 'edge/', 'desktop/', 'extension/', 'e2e/'].map((folder) => [
      `${folder}package.json`,
      [/^ {2}"version": "([^"]+)"/m],
    ]),
  ),
  'edge/deploy/helm/millrace-edge/Chart.yaml': [/^version: (\S+)$/m, /^appVersion: (\S+)$/m],
  'edge/OPERATING.md': [/as its tag \(([^)]+)\)/],
};

const urlOf = (file: string) => new URL(`../../${file}`, import.meta.url);

/** Returns the places that state another version than the programs, with what they state. */
export function otherVersions(): string[] {
  return Object.entries(PLACES).flatMap(([file, patterns]) => {
    const text = readFileSync(urlOf(file), 'utf8');
    const found = patterns.map((pattern) => pattern.exec(text)?.[1] ?? 'none');
    return found.filter((version) => version !== VERSION).map((version) => `${file}: ${version}`);
  });
}

/**
 * Returns every place with a version set, as text by file.
 *
 * @param version such as 1.2.3 or 1.2.3-rc.1
 * @throws Error if it has another form, or if a place is not found
 */
export function withVersion(version: string): Readonly<Record<string, string>> {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(version))
    throw new Error(`"${version}" does not have the form of a version, such as 1.2.3`);
  return Object.fromEntries(
    Object.entries(PLACES).map(([file, patterns]) => {
      let text = readFileSync(urlOf(file), 'utf8');
      for (const pattern of patterns) {
        if (!pattern.test(text)) throw new Error(`${file} states no version any more`);
        text = text.replace(pattern, (whole, old) => whole.replace(old, () => version));
      }
      return [file, text];
    }),
  );
}
