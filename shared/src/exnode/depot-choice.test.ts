import { describe, expect, test } from '@jest/globals';
import { merged, mixed } from './depot-choice.ts';

const at = (host: string, org?: string) => ({ origin: `https://${host}`, org });
const shown = (depots: readonly { readonly origin: string }[]) =>
  depots.map(({ origin }) => origin.replace('https://', ''));

describe('the order of found depots', () => {
  test('prefers organisations and hosts that store nothing yet, and then the best', () => {
    const found = [
      at('a:1', 'x'),
      at('a:2', 'y'),
      at('b', 'x'),
      at('c', 'y'),
      at('d', 'z'),
      at('e'),
    ];
    expect(shown(mixed(found, []))).toEqual(['a:1', 'c', 'd', 'e', 'b', 'a:2']);
    expect(shown(mixed(found, [at('own', 'y'), at('d:9')]))).toEqual([
      ...['a:1', 'e', 'b', 'c', 'd', 'a:2'],
    ]);
  });

  test('is that of the list where nobody says who runs what', () => {
    const found = [at('a'), at('b'), at('c')];
    expect(mixed(found, [at('own')])).toEqual(found);
  });
});

test('lists of several edges are merged by rank, with each depot once', () => {
  const lists = [[at('a'), at('b')], [at('b'), at('c'), at('d')], []];
  expect(shown(merged(lists))).toEqual(['a', 'b', 'c', 'd']);
});
