import { describe, expect, test } from '@jest/globals';
import { holdsSecret } from '../../http/urls/depot-link.ts';
import { parseOriginUrl } from '../../http/urls/prefixed-url.ts';
import { isTarget, prefixesOf } from '../upkeep/purge-target.ts';
import {
  DEPOT_TAG_BYTES,
  depotFileId,
  depotFileUrl,
  depotQuestion,
  depotTagOf,
  isDepotHost,
  keepQuestion,
  parseDepotQuestion,
  stateOfFile,
} from './depot-file.ts';

const ID = 'Ab_-0123456789xY';
const PROOF = 'a0'.repeat(32);

describe('names of files of depots', () => {
  test('are canonical URLs that purges cover, and hold no capability', () => {
    const url = depotFileUrl(ID);
    expect(parseOriginUrl(url).href).toBe(url);
    expect(depotFileId(url)).toBe(ID);
    expect(isDepotHost(new URL(url).hostname)).toBe(true);
    expect(isTarget({ kind: 'url', url })).toBe(true);
    expect(prefixesOf(url)).toEqual(['http://depot.invalid/']);
    expect(holdsSecret(`${url},start=0,end=9,v=e.${ID}`)).toBe(false);
  });

  test('are told from questions, and both from everything else', () => {
    const question = depotQuestion(ID, PROOF);
    expect(parseOriginUrl(question).href).toBe(question);
    expect(parseDepotQuestion(question)).toEqual({ id: ID, proof: PROOF, keep: false });
    const keep = keepQuestion(ID, PROOF);
    expect(parseOriginUrl(keep).href).toBe(keep);
    expect(parseDepotQuestion(keep)).toEqual({ id: ID, proof: PROOF, keep: true });
    expect(depotFileId(keep)).toBeUndefined();
    expect(depotFileId(question)).toBeUndefined();
    expect(parseDepotQuestion(depotFileUrl(ID))).toBeUndefined();
    for (const url of [
      ...[
        `https://depot.invalid/${ID}`,
        `http://depotXinvalid/${ID}`,
        `http://depot.invalid/${ID}/`,
      ],
      ...[`http://depot.invalid:81/${ID}`, `http://a.depot.invalid/${ID}`, `${depotFileUrl(ID)}?a`],
      ...[`http://depot.invalid/${ID}x`, `http://depot.invalid/${ID.slice(1)}`],
    ]) {
      expect([url, depotFileId(url), parseDepotQuestion(url)]).toEqual([url, undefined, undefined]);
    }
  });

  test('of hosts that look like it are for clients as before', () => {
    for (const host of ['depot.invalid.example', 'xdepot.invalid', 'invalid', 'depot.example']) {
      expect(isDepotHost(host)).toBe(false);
    }
    expect(isDepotHost('a.depot.invalid')).toBe(true);
  });

  test('end with the name of the depot', () => {
    const tag = Buffer.from([1, 2, 3]);
    expect(tag).toHaveLength(DEPOT_TAG_BYTES);
    const id = Buffer.concat([Buffer.alloc(9, 0xff), tag]).toString('base64url');
    expect(depotTagOf(id)).toBe(tag.toString('base64url'));
  });
});

test.each([
  ['just asked', 1000, 'fresh'],
  ['a minute later', 61_000, 'stale'],
  ['before its end', 99_999, 'stale'],
  ['at its end', 100_000, 'over'],
  ['with a clock that was set back', 999, 'stale'],
])('a file that is known for a while, %s', (_, now, state) => {
  expect(stateOfFile({ askedAt: 1000, leaseEnd: 100_000 }, now)).toBe(state);
});

test('a file with a short lease is not fresh beyond it', () => {
  expect(stateOfFile({ askedAt: 1000, leaseEnd: 1500 }, 1499)).toBe('fresh');
  expect(stateOfFile({ askedAt: 1000, leaseEnd: 1500 }, 1500)).toBe('over');
});
