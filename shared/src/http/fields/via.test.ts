import { expect, test } from '@jest/globals';
import { namesInVia, viaItem } from './via.ts';

test('the names of all intermediaries are found, whatever their protocol', () => {
  const via = '1.0 fred, 1.1 Example.com (Apache/1.1),\tHTTP/2  edge-3';
  expect(namesInVia(via)).toEqual(['fred', 'example.com', 'edge-3']);
});

test('an edge finds itself in the item that it has added', () => {
  expect(namesInVia(`1.1 other, ${viaItem('edge-1:3125')}`)).toContain('edge-1:3125');
});

test('a comment or another part of an item is not a name', () => {
  expect(namesInVia('1.1 other (edge-1)')).not.toContain('edge-1');
  expect(namesInVia('edge-1')).not.toContain('edge-1');
});

test('without the field there are no names', () => {
  expect(namesInVia(undefined).filter((name) => name !== '')).toEqual([]);
});
