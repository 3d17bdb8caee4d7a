/**
 * Makes the description of the app for software centres: AppStream metainfo
 * (freedesktop.org/software/appstream/docs). GNOME Software and KDE Discover show it.
 */

import { APP_ID, DESCRIPTION, HOMEPAGE, LICENSE, NAME, SUMMARY } from './package-facts.ts';

/** Descriptions in other languages, by language. */
const SUMMARIES = { de: 'Lädt große Dateien schnell, sicher und fortsetzbar' };

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Returns the text of the file.
 *
 * @param desktop name of the menu entry that starts the app, such as millrace.desktop
 * @param version version that the package has
 * @param date its day, such as 2026-11-27
 */
export function metainfo(desktop: string, version: string, date: string): string {
  const paragraphs = DESCRIPTION.map((text) => `    <p>${escaped(text)}</p>`).join('\n');
  const summaries = Object.entries(SUMMARIES).map(
    ([language, text]) => `  <summary xml:lang="${language}">${escaped(text)}</summary>\n`,
  );
  const kind = version.includes('-') ? 'development' : 'stable';
  return `<?xml version="1.0" encoding="UTF-8"?>
<component type="desktop-application">
  <id>${APP_ID}</id>
  <metadata_license>CC0-1.0</metadata_license>
  <project_license>${LICENSE}</project_license>
  <name>${NAME}</name>
  <summary>${escaped(SUMMARY)}</summary>
${summaries.join('')}  <description>
${paragraphs}
  </description>
  <developer id="dev.millrace">
    <name>The authors of Millrace</name>
  </developer>
  <developer_name>The authors of Millrace</developer_name>
  <launchable type="desktop-id">${desktop}</launchable>
  <url type="homepage">${HOMEPAGE}</url>
  <content_rating type="oars-1.1"/>
  <categories>
    <category>Network</category>
    <category>FileTransfer</category>
  </categories>
  <provides>
    <mediatype>application/metalink4+xml</mediatype>
    <mediatype>application/metalink+xml</mediatype>
    <mediatype>application/vnd.millrace.exnode+json</mediatype>
    <mediatype>x-scheme-handler/millrace</mediatype>
  </provides>
  <releases>
    <release version="${version.replace('-', '~')}" date="${date}" type="${kind}"/>
  </releases>
</component>
`;
}
