import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readUploadFields, uploadFields, uploadLimit } from './upload-fields.ts';

describe('fields of resumable uploads', () => {
  test('are read as they are written', () => {
    const number = fc.option(fc.integer({ min: 0, max: 999_999_999_999_999 }), { nil: undefined });
    const complete = fc.option(fc.boolean(), { nil: undefined });
    fc.assert(
      fc.property(fc.record({ offset: number, complete, length: number }), (fields) => {
        expect(readUploadFields(uploadFields(fields))).toEqual(fields);
      }),
    );
  });

  test.each([
    ['?1', true],
    ['?0', false],
    [' ?1 ;a=b', true],
    ['true', undefined],
    ['1', undefined],
    ['?2', undefined],
    ['?1, ?0', undefined],
  ])('Upload-Complete: %s means %s', (value, complete) => {
    expect(readUploadFields({ 'upload-complete': value }).complete).toBe(complete);
  });

  test.each([
    ['0', 0],
    ['5 ; x', 5],
    ['-1', undefined],
    ['1.0', undefined],
    ['"1"', undefined],
    ['1, 2', undefined],
    ['1e3', undefined],
    ['1000000000000000', undefined],
    ['', undefined],
  ])('an integer that is written %s means %s', (value, number) => {
    const fields = readUploadFields({ 'upload-offset': value, 'upload-length': [value] });
    expect([fields.offset, fields.length]).toEqual([number, number]);
  });

  test('limits are a dictionary of those that there are', () => {
    expect(uploadLimit({ maxSize: 5, maxAge: 60 })).toBe('max-size=5, max-age=60');
    expect(uploadLimit({ maxSize: undefined, maxAge: 60 })).toBe('max-age=60');
  });
});
