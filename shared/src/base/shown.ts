/** Words of strangers in messages. */

/** A stranger's word as it can be shown in one line. */
export function shown(text: string): string {
  if (text === '') return 'nothing';
  const clean = text.replace(/[^\x21-\x7e\p{L}\p{N}]/gu, '?');
  return clean.length > 60 ? `${clean.slice(0, 60)}...` : clean;
}
