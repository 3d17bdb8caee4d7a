/** The German texts of all interfaces address their reader in one way: as `du`. */

import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const CATALOGUES = [
  'desktop/shell/text/de.json',
  'desktop/ui/src/text/de.json',
  'extension/src/text/de.json',
  'shared/src/text/errors-de.json',
];
/** Orders and objects of the formal address. `Sie` alone also begins sentences about things. */
const FORMAL =
  /\b[A-ZÄÖÜa-zäöü]+e?n Sie\b|\bSie (?:nicht|bitte)\b|\bIhnen\b|\b(?:für|ohne|an) Sie\b/;

test.each(CATALOGUES)('%s says du', (path) => {
  const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => FORMAL.test(line));
  expect(lines).toEqual([]);
});
