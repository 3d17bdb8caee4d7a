import { describe, expect, test } from '@jest/globals';
import { EDGE_RELATION } from '@millrace/shared/http/edge-links';
import { DEFAULT_SETTINGS } from '../settings.ts';
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
  test('are those that the user has for the host, then those of the publisher', () => {
    const published = ['https://cdn.example/', 'https://edge.example/'];
    expect(edgesFor([{ url: FILE }], settings, published)).toEqual([
      'https://edge.example/',
      'https://cdn.example/',
    ]);
    expect(edgesFor([{ url: FILE }], { ...settings, publisherEdges: false }, published)).toEqual([
      'https://edge.example/',
    ]);
  });

  test('never learn of what is not for everybody, wherever that shows', () => {
    const published = ['https://cdn.example/'];
    const signed = `${FILE}?X-Amz-Signature=abc`;
    for (const urls of [[signed], [FILE, signed], ['http://10.0.0.1/a'], [FILE, 'http://nas/a']]) {
      const requests = urls.map((url) => ({ url }));
      expect(edgesFor(requests, settings, published)).toEqual([]);
    }
    for (const name of ['authorization', 'cookie']) {
      const asked = { url: FILE, headers: { [name]: 'a=b' } };
      expect(edgesFor([asked], settings, published)).toEqual([]);
      expect(edgesFor([{ url: FILE }, asked], settings, published)).toEqual([]);
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
    expect(later.edgesOf(FILE)).toEqual(['https://cdn.example/']);
    expect(later.edgesOf('https://example.com/a.iso')).toEqual([]);
    expect(later.edgesOf('http://dl.example.com/a.iso')).toEqual([]);
  });

  test('are bounded', () => {
    const publishers = new Publishers();
    for (let i = 0; i < 500; i++) publishers.answered(page(`https://h${i}.example/`, named));
    expect(publishers.all).toHaveLength(100);
    expect(publishers.edgesOf('https://h499.example/a')).toHaveLength(1);
  });
});
