/** Prepares text from strangers for messages. */

/** Cleans and shortens a stranger's text, so that it can be shown in one line. */
export function shown(text: string): string {
  if (text === '') return 'nothing';
  const clean = text.replace(/[^\x21-\x7e\p{L}\p{N}]/gu, '?');
  return clean.length > 60 ? `${clean.slice(0, 60)}...` : clean;
}
