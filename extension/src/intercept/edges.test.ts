import { describe, expect, test } from '@jest/globals';
import { EDGE_RELATION } from '@millrace/shared/http/urls/edge-links';
import { DEFAULT_SETTINGS } from '../contract/settings.ts';
import { edgesFor } from './edges.ts';
import { Publishers } from './publishers.ts';
import type { SeenRequest } from './request-log.ts';

const FILE = 'https://dl.example.com/a.iso';
const settings = {
  ...DEFAULT_SETTINGS,
  edges: [
    { url: 'https://edge.example/', hosts: ['example.com'] },
    { url: 'https://other.example/', hosts: ['example.org'] },
  ],
};

describe('edges', () => {
  test('are the user’s own for the host, then the publisher’s', () => {
    const published = ['https://cdn.example/', 'https://edge.example/'];
    expect(edgesFor([{ url: FILE }], settings, published)).toEqual({
      edges: ['https://edge.example/', 'https://cdn.example/'],
      published: ['https://cdn.example/'],
    });
    expect(edgesFor([{ url: FILE }], { ...settings, publisherEdges: false }, published)).toEqual({
      edges: ['https://edge.example/'],
      published: [],
    });
  });

  test('never learn of files that are not public', () => {
    const published = ['https://cdn.example/'];
    const none = { edges: [], published: [] };
    const signed = `${FILE}?X-Amz-Signature=abc`;
    for (const urls of [[signed], ['http://10.0.0.1/a'], [FILE, 'http://nas/a']]) {
      const requests = urls.map((url) => ({ url }));
      expect(edgesFor(requests, settings, published)).toEqual(none);
    }
    // Edges are not told the target of the redirect; the answer's fields count.
    expect(edgesFor([{ url: FILE }, { url: signed }], settings, published)).not.toEqual(none);
    const answer = { status: 200, headers: { 'cache-control': 'private' } };
    expect(edgesFor([{ url: FILE }, { url: signed, answer }], settings, published)).toEqual(none);
    for (const name of ['authorization', 'cookie']) {
      const asked = { url: FILE, headers: { [name]: 'a=b' } };
      expect(edgesFor([asked], settings, published)).toEqual(none);
      expect(edgesFor([{ url: FILE }, asked], settings, published)).toEqual(none);
    }
  });
});

describe('publishers', () => {
  const page = (url: string, link?: string): SeenRequest => ({
    id: '1',
    hops: [{ url, method: 'GET' }],
    answer: { status: 200, headers: link === undefined ? {} : { link } },
    at: 0,
  });
  const named = `<https://cdn.example/>; rel="${EDGE_RELATION}"`;

  test('speak for their own origin', () => {
    const publishers = new Publishers();
    expect(publishers.answered(page('https://dl.example.com/', named))).toBe(true);
    expect(publishers.answered(page('https://other.example/'))).toBe(false);
    const later = new Publishers(publishers.all);
    expect(later.edgesOf(FILE).edges).toEqual(['https://cdn.example/']);
    expect(later.edgesOf('https://example.com/a.iso').edges).toEqual([]);
    expect(later.edgesOf('http://dl.example.com/a.iso').edges).toEqual([]);
  });

  test('are bounded', () => {
    const publishers = new Publishers();
    for (let i = 0; i < 500; i++) publishers.answered(page(`https://h${i}.example/`, named));
    expect(publishers.all).toHaveLength(100);
    expect(publishers.edgesOf('https://h499.example/a').edges).toHaveLength(1);
  });

  test('cannot name edges from frames within pages, or from behind an edge', () => {
    const publishers = new Publishers();
    const framed = { ...page('https://dl.example.com/', named), framed: true };
    expect(publishers.answered(framed)).toBe(false);
    for (const behind of [
      'https://edge.example/https://site.example/page',
      'https://edge.example/http:/site.example/page',
      'https://edge.example/https%3A%2F%2Fsite.example/page',
      'https://edge.example/site.example/page',
      'https://edge.example/localhost:80/page',
    ]) {
      expect(publishers.answered(page(behind, named))).toBe(false);
    }
    expect(publishers.answered(page('https://dl.example.com/pages/1', named))).toBe(true);
  });

  test.each([
    'http://localhost:8080/admin/reboot',
    'http://LOCALHOST./',
    'http://a.localhost../',
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://127.0.0.1./',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:192.168.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://0/',
    'http://192.168.1.1/',
    'http://169.254.169.254/',
    'http://router/',
    'http://router./',
    'http://nas.local/',
    'http://vault.internal/',
    'http://wiki.intranet./',
    'http://pc.localdomain/',
  ])('cannot aim at the user’s own network: %s', (edge) => {
    const link = `<${edge}>; rel="${EDGE_RELATION}"`;
    const publishers = new Publishers();
    expect(publishers.answered(page('http://dl.example.com/', link))).toBe(false);
    const secure = link.replace('http:', 'https:');
    expect(publishers.answered(page('https://dl.example.com/', secure))).toBe(false);
  });

  test('cannot name edges without https on pages with https', () => {
    const link = `<http://cdn.example/>; rel="${EDGE_RELATION}"`;
    expect(new Publishers().answered(page('https://dl.example.com/', link))).toBe(false);
    expect(new Publishers().answered(page('http://dl.example.com/', link))).toBe(true);
  });
});
