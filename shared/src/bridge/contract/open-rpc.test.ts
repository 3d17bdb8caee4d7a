import { expect, test } from '@jest/globals';
import * as z from 'zod';
import { named } from '../results/named.ts';
import { CONTRACT } from './contract.ts';
import { openRpcOf } from './open-rpc.ts';

const document = JSON.parse(JSON.stringify(openRpcOf(CONTRACT, '1.2.3')));

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' ? [inner as string] : referencesIn(inner),
  );
}

test('every method of the contract is in the document, by name, with a described result', () => {
  const names = document.methods.map(({ name }: { name: string }) => name);
  expect(names).toEqual(Object.keys(CONTRACT));
  for (const { paramStructure, result, summary, params } of document.methods) {
    expect(paramStructure).toBe('by-name');
    expect(summary).toMatch(/^[A-Z].*\.$/);
    expect(document.components.schemas[result.name].description).toMatch(/\.$/);
    for (const param of params) expect(param.schema).toBeInstanceOf(Object);
  }
});

test('a method whose parameters the engine checks still describes them', () => {
  const add = document.methods.find(({ name }: { name: string }) => name === 'millrace.add');
  const required = add.params.filter((param: { required: boolean }) => param.required);
  expect(required.map(({ name }: { name: string }) => name)).toEqual(['urls']);
  expect(add.params.length).toBeGreaterThan(15);
});

test('an object describes its members and refers to other objects', () => {
  const { DownloadView, ListPage } = document.components.schemas;
  expect(DownloadView.properties.storedBytes).toMatchObject({ type: 'integer', minimum: 0 });
  expect(DownloadView.required).toContain('gid');
  expect(DownloadView.required).not.toContain('path');
  expect(ListPage.properties.downloads.items).toEqual({
    $ref: '#/components/schemas/DownloadView',
  });
});

test('every reference has a target', () => {
  const references = referencesIn(document);
  expect(references.length).toBeGreaterThan(names(document).length);
  for (const reference of references) {
    const [root, ...steps] = reference.split('/');
    expect(root).toBe('#');
    const target = steps.reduce((at, step) => at?.[step], document);
    expect([reference, target]).toEqual([reference, expect.objectContaining({})]);
  }
});

test('parameters with a default are optional; methods that need a socket say so', () => {
  const params = z.strictObject({ a: z.string(), b: z.number().int().min(1).default(2) });
  const row = { summary: 'X.', params, result: named('TestOnly', 'A test.', {}) };
  const { methods } = openRpcOf({ 'millrace.x': { ...row, needs: 'socket' } }, '1');
  expect(methods[0]?.params).toMatchObject([
    { name: 'a', required: true, schema: { type: 'string' } },
    { name: 'b', required: false, schema: { type: 'integer', minimum: 1, default: 2 } },
  ]);
  expect(methods[0]?.errors).toContainEqual({ $ref: '#/components/errors/NeedsSocket' });
});

function names({ methods }: { methods: readonly { name: string }[] }): string[] {
  return methods.map(({ name }) => name);
}
