import { describe, expect, test } from '@jest/globals';
import { MAX_REQUESTS, REMEMBERED_MS, RequestLog } from './request-log.ts';

const URL_ = 'http://example.com/a';
const field = (name: string, value: string) => ({ name, value });

describe('remembered requests', () => {
  test('include all redirects', () => {
    const log = new RequestLog();
    log.began('1', 'POST', 'http://example.com/form', 0);
    log.sent('1', [field('Cookie', 'a=b'), field('Accept', '*/*')], 1);
    log.began('1', 'GET', URL_, 2);
    log.sent('1', [field('User-Agent', 'x')], 3);
    log.answered('1', 200, [field('ETag', '"x"'), field('Set-Cookie', 'secret')], 4);
    expect(log.find(`${URL_}#part`, 5)).toEqual({
      id: '1',
      hops: [
        { url: 'http://example.com/form', method: 'POST', headers: { cookie: 'a=b' } },
        { url: URL_, method: 'GET', headers: { 'user-agent': 'x' } },
      ],
      answer: { status: 200, headers: { etag: '"x"', 'set-cookie': '' } },
      at: 4,
    });
  });

  test('have the fields that were sent after a log-in', () => {
    const log = new RequestLog();
    log.began('1', 'GET', URL_, 0);
    log.sent('1', [field('User-Agent', 'x')], 1);
    log.sent('1', [field('Authorization', 'Basic eA==')], 2);
    log.answered('1', 200, [], 3);
    expect(log.find(URL_, 4)?.hops[0]?.headers).toEqual({ authorization: 'Basic eA==' });
  });

  test('have no fields if the browser does not reveal them', () => {
    const log = new RequestLog();
    log.began('1', 'GET', URL_, 0);
    log.sent('1', [], 1);
    log.answered('1', 200, [], 2);
    expect(log.find(URL_, 3)?.hops).toEqual([{ url: URL_, method: 'GET' }]);
  });

  test('are found as the latest of equal ones, but not if they differ', () => {
    const log = new RequestLog();
    for (const [id, etag] of [
      ['1', '"x"'],
      ['2', '"x"'],
      ['3', '"y"'],
    ] as const) {
      log.began(id, 'GET', URL_, 0);
      log.answered(id, 200, [field('etag', etag)], 1);
      if (id === '2') expect(log.find(URL_, 2)?.id).toBe('2');
    }
    expect(log.find(URL_, 2)).toBeUndefined();
  });

  test('join fields that contradict each other', () => {
    const log = new RequestLog();
    log.began('1', 'GET', URL_, 0);
    const lengths = [field('Content-Length', '5'), field('content-length', '6')];
    log.answered('1', 200, [...lengths, field('ETag', '"x"'), field('ETag', '"x"')], 1);
    const headers = { 'content-length': '5, 6', etag: '"x"' };
    expect(log.find(URL_, 2)?.answer?.headers).toEqual(headers);
  });

  test('are not found unanswered, for another URL, or when they are old', () => {
    const log = new RequestLog();
    log.began('1', 'GET', URL_, 0);
    expect(log.find(URL_, 1)).toBeUndefined();
    log.answered('1', 200, [], 1);
    expect(log.find('http://example.com/b', 1)).toBeUndefined();
    expect(log.find(URL_, 1 + REMEMBERED_MS)).toBeDefined();
    expect(log.find(URL_, 2 + REMEMBERED_MS)).toBeUndefined();
  });

  test('are restored, and limited in number', () => {
    const log = new RequestLog();
    for (let i = 0; i <= MAX_REQUESTS; i++) {
      log.began(String(i), 'GET', `${URL_}${i}`, 0);
      log.answered(String(i), 200, [], 1);
    }
    const later = new RequestLog(log.all);
    expect(later.all).toHaveLength(MAX_REQUESTS);
    expect(later.find(`${URL_}0`, 2)).toBeUndefined();
    expect(later.find(`${URL_}${MAX_REQUESTS}`, 2)).toBeDefined();
  });

  test('are cut off in endless chains of redirects', () => {
    const log = new RequestLog();
    for (let i = 0; i < 100; i++) log.began('1', 'GET', `${URL_}${i}`, 0);
    log.answered('1', 200, [field('etag', 'x'.repeat(10_000))], 1);
    expect(log.find(`${URL_}99`, 2)).toBeUndefined();
    expect(JSON.stringify(log.all).length).toBeLessThan(2000);
  });
});
