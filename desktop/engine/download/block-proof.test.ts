import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { PieceDigests } from '@millrace/shared/base/digest';
import { CONTENT, PartialFileStage } from '../../testing/partial-file-stage.ts';
import { FileHasher } from '../hash/file-hasher.ts';
import type { PartialFile } from '../partial/partial-file.ts';
import { BlockProof } from './block-proof.ts';

const stage = PartialFileStage.forEachTest();

function piecesOf(pieceBytes: number, content = CONTENT): PieceDigests {
  const hexes: string[] = [];
  for (let at = 0; at < content.length; at += pieceBytes) {
    const piece = content.subarray(at, at + pieceBytes);
    hexes.push(createHash('sha1').update(piece).digest('hex'));
  }
  return { algorithm: 'sha1', pieceBytes, hexes };
}

/** Proves what a file has. @returns whether all of it is right, and which pieces were hashed for that */
async function prove(file: PartialFile, blocks: PieceDigests) {
  const hashed: number[] = [];
  const hasher = new FileHasher(file, []);
  const counting = {
    digestsOfPieces: (...given: Parameters<FileHasher['digestsOfPieces']>) => {
      hashed.push(...given[2]);
      return hasher.digestsOfPieces(...given);
    },
    digestsOf: hasher.digestsOf.bind(hasher),
  } as FileHasher;
  const proof = new BlockProof({
    ...{ size: CONTENT.length, blocks, file, hasher: counting, now: () => 0 },
    sources: () => [],
    isAsked: () => false,
    onLeft: () => {},
    onWrong: () => {},
    onFailed: () => {},
  });
  const isRight = await proof.finish();
  await hasher.close();
  return { isRight, hashed };
}

test('what an earlier run has proven is not hashed again, unless the digests are others', async () => {
  const before = await stage.start();
  await stage.store(before, [0, 350], [400, 650]);
  expect(await prove(before, piecesOf(100))).toEqual({ isRight: false, hashed: [0, 1, 2, 4, 5] });
  await stage.end(before);
  const after = await stage.start();
  await stage.store(after, [350, 400], [650, 1000]);
  expect(await prove(after, piecesOf(100))).toEqual({ isRight: true, hashed: [3, 6, 7, 8, 9] });
  await stage.end(after);
  const again = await stage.start();
  expect(await prove(again, piecesOf(100))).toEqual({ isRight: true, hashed: [] });
  expect(await prove(again, piecesOf(500))).toEqual({ isRight: true, hashed: [0, 1] });
});

test('bytes that have changed since they were proven are proven anew', async () => {
  const before = await stage.start();
  await stage.store(before, [0, 1000]);
  await prove(before, piecesOf(100));
  await before.forget({ start: 250, end: 260 });
  await stage.store(before, [250, 260]);
  await stage.end(before);
  const after = await stage.start();
  expect(await prove(after, piecesOf(100))).toEqual({ isRight: true, hashed: [2] });
});

test('wrong blocks of an earlier run are forgotten, and nobody is blamed', async () => {
  const file = await stage.start();
  await stage.store(file, [0, 1000]);
  const changed = Buffer.from(CONTENT);
  changed[555] = (changed[555] as number) ^ 1;
  expect((await prove(file, piecesOf(100, changed))).isRight).toBe(false);
  expect(stage.stored(file)).toEqual([
    [0, 500],
    [600, 1000],
  ]);
});
