/** Operators of a depot list, delete and block files, and cannot give its folder to two edges. */

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { contentOf, sha256 } from '../../fixtures/origins/content.ts';
import { runCli } from '../../fixtures/programs/processes.ts';
import {
  appendTo,
  askDepot,
  DepotStage,
  owned,
  reserve,
  store,
} from '../../fixtures/stages/depot-stage.ts';

const stage = await DepotStage.set();
const adminFile = join(stage.folder, 'admin');
await writeFile(adminFile, 'token-of-the-operator-of-tests\n');
const started = await stage.start('--admin-token-file', adminFile);
const SECRETS = /[A-Za-z0-9_-]{32}/;

async function allocations(...options: string[]) {
  const where = ['--edge', started.url, '--token-file', adminFile, '--json'];
  const { code, stdout, stderr } = await runCli(['edge', 'allocations', ...where, ...options]);
  return { code, stderr, body: code === 0 ? JSON.parse(stdout) : undefined };
}

describe('the operator of a depot', () => {
  test('lists files without their links, and needs the token for it', async () => {
    const content = contentOf('listed', 1000);
    const links = await store(started, content, { name: 'plan.txt' });
    const open = await reserve(started, 10);
    const all = await allocations('--owner', 'alice');
    expect(all.body).toMatchObject({ count: 2, bytes: 1000 });
    expect(JSON.stringify(all.body).replaceAll(sha256(content), '')).not.toMatch(SECRETS);
    // By a link that somebody has reported.
    const one = await allocations('--id', links.read);
    expect(one.body.allocations).toEqual([
      expect.objectContaining({
        ...{ id: links.id, owner: 'alice', name: 'plan.txt', bytes: 1000, complete: true },
        ...{ sha256: sha256(content), blocked: false, damaged: false },
      }),
    ]);
    expect((await allocations('--owner', 'bob')).body.count).toBe(0);
    expect((await allocations('--id', 'short')).code).toBe(2);
    expect((await allocations('--delete')).code).toBe(2);
    for (const headers of [{}, owned()]) {
      const answer = await askDepot('GET', `${started.url}/-/allocations`, headers);
      expect([answer.status, answer.body.code]).toEqual([401, 'token-required']);
    }
    expect((await allocations('--id', open.id, '--delete')).body.allocations).toHaveLength(1);
    expect((await askDepot('HEAD', open.write)).status).toBe(404);
    expect((await askDepot('GET', links.read)).status).toBe(200);
  });

  test('blocks content: it is not served, not taken again, and still not after a restart', async () => {
    const content = contentOf('blocked', 200_000);
    const digest = sha256(content);
    const [one, other] = [await store(started, content), await store(started, content)];
    expect((await allocations('--id', one.id, '--block', '--delete')).body.digests).toEqual([
      digest,
    ]);
    expect((await askDepot('GET', one.read)).status).toBe(404);
    const served = await askDepot('GET', other.read);
    expect([served.status, served.body.code]).toEqual([451, 'content-blocked']);
    await started.stop('SIGKILL');
    await stage.restart(started, '--admin-token-file', adminFile);
    expect((await askDepot('GET', other.read)).status).toBe(451);
    const again = await reserve(started, content.length);
    const refused = await appendTo(again.write, 0, content, true);
    expect([refused.status, refused.body.code]).toEqual([451, 'content-blocked']);
    expect((await askDepot('HEAD', again.write)).status).toBe(404);
    const stated = { bytes: content.length, seconds: 60, sha256: digest };
    const early = await askDepot('POST', `${started.url}/-/depot`, owned(), stated);
    expect(early.status).toBe(451);
    expect((await allocations('--sha256', digest)).body.allocations[0].blocked).toBe(true);
    await allocations('--sha256', digest, '--unblock');
    const back = await fetch(other.read);
    expect(sha256(Buffer.from(await back.arrayBuffer()))).toBe(digest);
  });

  test('cannot give the folder to two edges; a killed one does not keep it', async () => {
    const dir = join(stage.folder, 'one at a time');
    const first = await stage.start('--depot-dir', dir);
    await expect(stage.start('--depot-dir', dir)).rejects.toThrow(/another edge uses the depot/);
    await first.stop('SIGKILL');
    await stage.start('--depot-dir', dir);
  });
});

test('the manager of a file gets the digests of its blocks', async () => {
  const content = contentOf('blocks', 3 * 65_536 + 1);
  const { manage, id } = await store(started, content);
  const { status, body } = await askDepot('GET', `${manage}?blocks=65536`);
  const blocks = [0, 1, 2, 3].map((i) => content.subarray(i * 65_536, (i + 1) * 65_536));
  const expected = blocks.map((block) => createHash('sha256').update(block).digest('hex'));
  expect([status, body]).toEqual([200, expect.objectContaining({ id, blocks: expected })]);
  expect(body).toMatchObject({ complete: true, blockBytes: 65_536, sha256: sha256(content) });
  for (const bad of ['0', '1000', '-65536', 'x', '1e6', '']) {
    expect((await askDepot('GET', `${manage}?blocks=${bad}`)).status).toBe(400);
  }
  const open = await reserve(started, 10);
  expect((await askDepot('GET', `${open.manage}?blocks=65536`)).body.code).toBe(
    'upload-incomplete',
  );
});
