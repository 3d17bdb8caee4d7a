/** Reads pages in XML, which strangers have written. */

import { XmlDocument, type XmlNode } from '../metalink/xml-tree.ts';

/** Returns the root of a document; undefined for text that is no XML, or is not within its bounds. */
export function xmlRoot(text: string): XmlNode | undefined {
  try {
    return new XmlDocument(text).root;
  } catch {
    return undefined;
  }
}

/** Returns the text of an element, without that of elements in it. */
export function elementText(node: XmlNode): string {
  return node.content.filter((part) => typeof part === 'string').join('');
}
