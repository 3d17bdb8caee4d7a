import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseCall, parseFromServer } from './json-rpc.ts';

describe('calls', () => {
  test('are read with parameters in a list, by name, or without', () => {
    const call = { jsonrpc: '2.0', id: 'a', method: 'm' };
    expect(parseCall({ ...call, params: [1] })).toEqual({ id: 'a', method: 'm', params: [1] });
    expect(parseCall({ ...call, params: { x: 1 } })).toMatchObject({ params: { x: 1 } });
    expect(parseCall({ id: 0, method: 'm' })).toEqual({ id: 0, method: 'm', params: [] });
  });

  test.each([
    [3, null, -32600],
    [null, null, -32600],
    [[], null, -32600],
    [{ method: 'm' }, null, -32600],
    [{ id: {}, method: 'm' }, null, -32600],
    [{ id: 7 }, 7, -32600],
    [{ id: 7, method: 7 }, 7, -32600],
    [{ id: 7, method: 'm', params: 'x' }, 7, -32602],
  ])('%j is refused', (value, id, code) => {
    expect(parseCall(value)).toMatchObject({ id, error: { code } });
  });
});

describe('messages of a server', () => {
  test('are answers, errors or notifications', () => {
    expect(parseFromServer({ id: 1, result: 'x' })).toMatchObject({ id: 1, result: 'x' });
    expect(parseFromServer({ id: 1, error: { code: 1, message: 'no' } })).toMatchObject({
      error: { code: 1, message: 'no' },
    });
    expect(parseFromServer({ method: 'm', params: [{ gid: 'x' }] })).toMatchObject({
      method: 'm',
      params: [{ gid: 'x' }],
    });
    expect(parseFromServer('x')).toBeUndefined();
    expect(parseFromServer({ result: 1 })).toBeUndefined();
  });

  test('no JSON value makes either parser throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        parseCall(value);
        parseFromServer(value);
      }),
    );
  });
});
