/** Requests to depots, their own files, and the file of their owners. */

import { parseHead } from '../../edge/src/depot/heads/head.ts';
import { parseLine } from '../../edge/src/keeping/kept-exnodes.ts';
import { readCreation } from '../../edge/src/routes/depot/requests.ts';
import { parseOwners } from '../../shared/src/cdn/depot/owners-file.ts';
import { readUploadFields, uploadFields } from '../../shared/src/http/fields/upload-fields.ts';
import {
  formatDepotLink,
  hideSecrets,
  isDepotTarget,
  parseDepotTarget,
} from '../../shared/src/http/urls/depot-link.ts';
import { mutatedJsonText, mutatedText } from '../mutate.ts';
import { HEX64, NOW } from '../samples.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse, readOrThrow } from '../target.ts';

const ID = 'AAAAbbbb0000-__1';
const SECRET = 'abcdefghABCDEFGH01234567-_-_xyz0';
const MEGABYTE = 2 ** 20;
const HEAD = {
  ...{ format: 1, id: ID, owner: 'alice', proofs: { read: HEX64, write: HEX64, manage: HEX64 } },
  ...{ createdAt: NOW, expiresAt: NOW + 1000, bytes: 10, grows: false, resumable: true },
  ...{ name: 'a.bin', type: 'image/png', length: 10, sha256: HEX64, damaged: true },
  final: { length: 10, sha256: HEX64, at: NOW },
};

export const targets = [
  fuzzTarget({
    name: 'depot-target',
    cases: mutatedText([
      `/-/d/${ID}/${SECRET}/a%20b.bin`,
      `/-/depot/w/${ID}/${SECRET}`,
      `/-/depot/w/${ID}/${SECRET}/pull`,
      `/-/depot/m/${ID}/${SECRET}?a=b`,
      '/-/depot?for=7d',
      '/-/depot/name?for=7d',
    ]),
    check(target) {
      const parsed = parseDepotTarget(target);
      if (parsed === undefined) return 'refused';
      hold(isDepotTarget(target), 'the router sends it to the depot');
      if (parsed.kind === 'create' || parsed.kind === 'put') return;
      // Targets have no blanks, and texts with links in them do.
      const shown = hideSecrets(target.replace(/\s/g, ''));
      hold(!shown.includes(parsed.secret), 'its secret is not shown');
      if (parsed.kind === 'pull') return;
      const { kind, id, secret } = parsed;
      holdEqual(
        parseDepotTarget(formatDepotLink(parsed)),
        { kind, id, secret },
        'it round-trips, but for its query',
      );
    },
    long: {
      'a long name': () => `/-/d/${ID}/${SECRET}/${'a'.repeat(MEGABYTE)}`,
      'many links': () => `/-/d/${ID}/${SECRET}/`.repeat(10_000),
    },
  }),
  fuzzTarget({
    name: 'upload-fields',
    cases: mutatedText(['?1', '?0; a=b', '12345', '0;x']),
    takesAll: true,
    check(value) {
      const headers = { 'upload-offset': value, 'upload-complete': value, 'upload-length': value };
      const fields = readUploadFields(headers);
      for (const number of [fields.offset, fields.length]) {
        hold(number === undefined || Number.isSafeInteger(number), 'an offset is a whole number');
      }
      holdEqual(readUploadFields(uploadFields(fields)), fields, 'they round-trip');
    },
  }),
  fuzzTarget({
    name: 'depot-head',
    cases: mutatedJsonText([HEAD]),
    check(text) {
      const head = readOrThrow(() => parseHead(text));
      if (head === undefined) return 'refused';
      hold(head.bytes >= 0 && (head.final?.length ?? 0) >= 0, 'lengths are not negative');
      holdEqual(parseHead(JSON.stringify(head)), head, 'it round-trips');
    },
    long: { 'brackets inside brackets': () => '['.repeat(MEGABYTE) },
  }),
  fuzzTarget({
    name: 'kept-exnode',
    cases: mutatedJsonText([
      {
        ...{ format: 1, id: ID, proof: HEX64, length: 10, sha256: HEX64, name: 'a' },
        ...{ edition: 1, expiresAt: 1e12, mark: ['era', 3] },
      },
    ]),
    check(text) {
      const kept = readOrThrow(() => parseLine(text));
      if (kept === undefined) return 'refused';
      hold(kept.length >= 0 && kept.expiresAt >= 0, 'length and end are not negative');
      holdEqual(parseLine(JSON.stringify(kept)), kept, 'it round-trips');
    },
    long: { 'brackets inside brackets': () => '['.repeat(MEGABYTE) },
  }),
  fuzzTarget({
    name: 'depot-creation',
    cases: mutatedJsonText([
      { bytes: 10, seconds: 60, name: 'a/b', type: 'a/b', sha256: HEX64 },
      { bytes: 0, seconds: 1 },
    ]),
    check(text) {
      const wanted = readOrRefuse(['bad-request'], () => readCreation(text));
      if (wanted === undefined) return 'refused';
      hold(wanted.bytes >= 0 && wanted.seconds >= 1, 'it reserves something for some time');
      hold(!/[/\\]/.test(wanted.name ?? ''), 'a name has no folder');
    },
  }),
  fuzzTarget({
    name: 'depot-owners',
    cases: mutatedText([
      `# owners\nalice sha256:${HEX64} bytes=1GiB each=5MB for=7d count=3 rate=1MiB/s\n`,
      `a sha256:${HEX64}\nb sha256:${HEX64}\n`,
    ]),
    check(text) {
      const owners = readOrRefuse(['bad-option'], () => parseOwners(text));
      if (owners === undefined) return 'refused';
      hold(new Set(owners.map(({ name }) => name)).size === owners.length, 'names are unique');
      for (const { bytes, each, forMs, count, rate } of owners) {
        hold(
          [bytes, each, forMs, count, rate].every((limit) => limit >= 0),
          'a limit is a number',
        );
      }
    },
  }),
];
