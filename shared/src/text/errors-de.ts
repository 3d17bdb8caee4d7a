/** Errors of downloads and their remedies in plain German. */

import type { ErrorCode } from '../base/errors.ts';
import type { ErrorWords } from './errors-en.ts';

export const errorsDe: Readonly<Record<ErrorCode, ErrorWords>> = {
  'bad-url': {
    title: 'Dieser Link lässt sich nicht herunterladen',
    help: 'Gib einen vollständigen Link an, der mit http:// oder https:// beginnt.',
  },
  'bad-request': {
    title: 'Der Server hat die Anfrage nicht verstanden',
    help: 'Versuch es noch einmal; wenn es dabei bleibt, such einen anderen Link zur Datei.',
  },
  'url-too-long': { title: 'Der Link ist zu lang', help: 'Such einen kürzeren Link zur Datei.' },
  'credentials-in-url': {
    title: 'Der Link enthält ein Passwort',
    help: 'Schalte Edges für diesen Download aus: Passwörter gehen nur an den Server der Datei.',
  },
  'not-a-proxy': {
    title: 'Ein Edge ist als Proxy eingetragen',
    help: 'Nimm ihn aus den Proxy-Einstellungen und trag ihn unter „Edges“ ein.',
  },
  'method-not-allowed': {
    title: 'Der Server nimmt solche Anfragen nicht an',
    help: 'Such einen anderen Link zur Datei.',
  },
  'no-such-page': {
    title: 'Der Edge kennt diese Seite nicht',
    help: 'Prüfe die Adresse des Edges in den Einstellungen.',
  },
  'precondition-failed': {
    title: 'Die Datei wurde durch eine andere Version ersetzt',
    help: 'Versuch es noch einmal, um die aktuelle Version zu laden.',
  },
  'range-not-satisfiable': {
    title: 'Die Datei ist kürzer geworden',
    help: 'Versuch es noch einmal, um die aktuelle Version zu laden.',
  },
  'too-many-ranges': {
    title: 'Zu viel auf einmal verlangt',
    help: 'Versuch es mit weniger Verbindungen.',
  },
  'not-cached': {
    title: 'Der Edge hat die Datei nicht',
    help: 'Versuch es noch einmal oder schalte Edges für diesen Download aus.',
  },
  'inside-request-refused': {
    title: 'Der Edge lehnt solche Anfragen ab',
    help: 'Prüfe die Adresse des Edges in den Einstellungen.',
  },
  'bad-chunk-name': {
    title: 'Der Edge hat die Anfrage nicht verstanden',
    help: 'Aktualisiere Millrace oder den Edge: Die Versionen passen wohl nicht zusammen.',
  },
  'loop-detected': {
    title: 'Die Anfrage läuft im Kreis',
    help: 'Entferne die Adresse des Edges vorn am Link.',
  },
  'origin-not-allowed': {
    title: 'Der Edge bedient diese Seite nicht',
    help: 'Schalte Edges für diesen Download aus oder bitte den Betreiber, die Seite aufzunehmen.',
  },
  'private-address': {
    title: 'Der Server steht in einem privaten Netz',
    help: 'Schalte Edges für diesen Download aus: Aus privaten Netzen holen sie nichts.',
  },
  'other-site': {
    title: 'Eine Webseite hat einen Edge gefragt, der nur seinem eigenen Nutzer dient',
    help: 'Öffne die Adresse in einem eigenen Tab.',
  },
  'token-required': {
    title: 'Der Edge verlangt sein Verwaltungs-Token',
    help: 'Prüfe die Adresse des Edges in den Einstellungen.',
  },
  'too-many-transfers': {
    title: 'Zu viele Downloads von diesem Edge zugleich',
    help: 'Warte, bis einer fertig ist, oder nimm weniger Verbindungen.',
  },
  'too-many-origins': {
    title: 'Zu viele Server über diesen Edge',
    help: 'Warte einige Minuten oder bis Downloads von anderen Servern fertig sind, oder schalte Edges für diesen aus.',
  },
  'too-many-requests': {
    title: 'Der Server will eine Pause',
    help: 'Millrace versucht es von selbst wieder, sobald der Server es erlaubt.',
  },
  'too-much-fetched': {
    title: 'Zu viele kleine Stücke verlangt',
    help: 'Warte einen Moment; der Download geht von selbst weiter.',
  },
  'content-type-refused': {
    title: 'Der Edge liefert Dateien dieser Art nicht aus',
    help: 'Schalte Edges für diesen Download aus.',
  },
  'file-too-large': {
    title: 'Die Datei ist zu groß für den Edge',
    help: 'Schalte Edges für diesen Download aus.',
  },
  'quota-exhausted': {
    title: 'Der Edge hat für diese Seite vorerst genug gesendet',
    help: 'Versuch es später noch einmal oder schalte Edges für diesen Download aus.',
  },
  'link-invalid': {
    title: 'Der Link ist unvollständig oder verändert',
    help: 'Kopier den ganzen Link noch einmal von dort, wo du ihn gefunden hast.',
  },
  'link-expired': {
    title: 'Der Link ist abgelaufen',
    help: 'Hol dir dort einen neuen, wo du ihn gefunden hast; was schon da ist, bleibt erhalten.',
  },
  'out-of-memory': {
    title: 'Der Edge hat keinen Speicher mehr frei',
    help: 'Millrace versucht es von selbst wieder. Ohne Edge geht es auch jetzt.',
  },
  draining: { title: 'Der Edge wird gerade beendet', help: 'Versuch es gleich noch einmal.' },
  'pin-refused': {
    title: 'Der Edge kann die Datei nicht festhalten',
    help: 'Gib andere Festhaltungen des Edges frei, oder verlange weniger oder kürzere Zeit.',
  },
  'no-such-entry': {
    title: 'Der Edge hat keinen solchen Eintrag',
    help: 'Vielleicht ist er abgelaufen: Sieh in den Listen des Edges nach.',
  },
  'not-cacheable': {
    title: 'Edges können die Datei nicht aufbewahren',
    help: 'Lade sie von ihrem eigenen Server herunter.',
  },
  'origin-not-found': {
    title: 'Der Server hat keine solche Datei',
    help: 'Prüfe den Link oder hol einen neuen von der Seite, auf der du ihn gefunden hast.',
  },
  'origin-gone': {
    title: 'Die Datei wurde vom Server genommen',
    help: 'Hol einen neuen Link. Was schon da ist, bleibt erhalten.',
  },
  'origin-denied': {
    title: 'Der Server verweigert den Zugriff',
    help: 'Der Link ist wohl abgelaufen oder braucht eine Anmeldung. Hol einen neuen; was da ist, bleibt.',
  },
  'origin-busy': {
    title: 'Der Server ist überlastet',
    help: 'Millrace versucht es von selbst wieder. Du kannst es auch jetzt versuchen.',
  },
  'origin-error': {
    title: 'Der Server hat ein Problem',
    help: 'Versuch es später noch einmal. Bleibt es so, sag dem Betreiber Bescheid.',
  },
  'origin-unreachable': {
    title: 'Der Server ist nicht erreichbar',
    help: 'Prüfe den Link und dein Netz, dann versuch es noch einmal.',
  },
  'origin-refused': {
    title: 'Der Server nimmt keine Verbindungen an',
    help: 'Prüfe den Port im Link. Millrace versucht es von selbst noch einige Male.',
  },
  'origin-unknown': {
    title: 'Einen Server dieses Namens gibt es nicht',
    help: 'Prüfe, wie der Link geschrieben ist.',
  },
  'network-away': {
    title: 'Dieser Computer hat kein Netz',
    help: 'Der Download geht von selbst weiter, sobald er wieder verbunden ist.',
  },
  'origin-timeout': {
    title: 'Der Server antwortet nicht',
    help: 'Versuch es später noch einmal.',
  },
  'origin-reset': {
    title: 'Die Verbindung ist abgebrochen',
    help: 'Versuch es noch einmal: Es geht weiter, wo es aufgehört hat.',
  },
  'too-many-redirects': {
    title: 'Der Link leitet immer weiter',
    help: 'Öffne ihn im Browser und kopiere den Link am Ende.',
  },
  'bad-redirect': {
    title: 'Der Link führt ins Leere',
    help: 'Sag dem Betreiber Bescheid oder such einen anderen Link.',
  },
  'certificate-invalid': {
    title: 'Dem Zertifikat des Servers ist nicht zu trauen',
    help: 'Prüfe die Uhr dieses Rechners. Vielleicht ist die Anmeldeseite eines Hotels dazwischen.',
  },
  'proxy-failed': {
    title: 'Der Proxy funktioniert nicht',
    help: 'Prüfe seine Adresse unter „Proxy“, dann versuch es noch einmal.',
  },
  'proxy-denied': {
    title: 'Der Proxy verweigert den Zugriff',
    help: 'Prüfe Name und Passwort unter „Proxy“.',
  },
  'range-ignored': {
    title: 'Der Server kann keine Teile von Dateien senden',
    help: 'Versuch es noch einmal: Die Datei kommt dann am Stück.',
  },
  'wrong-range': {
    title: 'Der Server hat einen anderen Teil der Datei gesendet',
    help: 'Nichts davon wurde verwendet. Such einen anderen Server.',
  },
  'wrong-length': {
    title: 'Der Server hat mehr oder weniger gesendet als angekündigt',
    help: 'Nichts davon wurde verwendet. Versuch es noch einmal oder such einen anderen Server.',
  },
  'wrong-encoding': {
    title: 'Der Server hat die Datei in anderer Form gesendet',
    help: 'Such einen anderen Server.',
  },
  'wrong-digest': {
    title: 'Die Daten kamen beschädigt an',
    help: 'Nichts davon wurde verwendet. Versuch es noch einmal oder such einen anderen Server.',
  },
  'version-changed': {
    title: 'Die Datei hat sich während des Downloads geändert',
    help: 'Versuch es noch einmal, um die neue Version zu laden.',
  },
  'rest-missing': {
    title: 'Kein Server, der übrig ist, hat den Rest der Datei',
    help: 'Füge einen weiteren Link zur selben Datei hinzu und setze fort. Was geladen ist, bleibt.',
  },
  'version-unproven': {
    title: 'Der Server sagt nicht, welche Version er gesendet hat',
    help: 'Such einen anderen Server.',
  },
  'source-refused': {
    title: 'Diese Quelle wird zum Schutz der Datei oder deines Netzes nicht benutzt',
    help: 'Ist sie gemeint, füge ihren Link selbst hinzu oder gib eine Prüfsumme der Datei an.',
  },
  'different-file': {
    title: 'Der neue Link führt zu einer anderen Datei',
    help: 'Gib einen Link zur selben Datei an oder füge diesen als neuen Download hinzu.',
  },
  'malformed-response': {
    title: 'Die Antwort des Servers ergibt keinen Sinn',
    help: 'Such einen anderen Server.',
  },
  'bad-option': { title: 'Eine Angabe lässt sich nicht verwenden', help: 'Berichtige sie.' },
  'bad-metalink': {
    title: 'Die Metalink-Datei ist nicht zu verstehen',
    help: 'Hol sie noch einmal von dort, wo du sie gefunden hast.',
  },
  'bad-manifest': {
    title: 'Das Manifest ist nicht zu gebrauchen',
    help: 'Es wurde nichts geändert. Der Ordner muss neu veröffentlicht werden.',
  },
  'contradicting-statements': {
    title: 'Zwei Quellen sagen Verschiedenes über die Datei',
    help: 'Eine davon ist falsch oder meint eine andere Version. Lass sie weg.',
  },
  'checksum-mismatch': {
    title: 'Die Datei hat nicht die erwartete Prüfsumme',
    help: 'Nichts wurde gespeichert. Prüfe die Prüfsumme; stimmt sie, ist die Datei am Server beschädigt.',
  },
  'file-exists': {
    title: 'Eine Datei dieses Namens gibt es schon',
    help: 'Speichere unter anderem Namen oder in einem anderen Ordner.',
  },
  'file-in-use': {
    title: 'Ein anderer Download schreibt in dieselbe Datei',
    help: 'Warte, bis er fertig ist, oder speichere unter anderem Namen.',
  },
  'disk-full': {
    title: 'Der Datenträger ist voll',
    help: 'Schaff Platz und versuch es noch einmal: Es geht weiter, wo es aufgehört hat.',
  },
  'file-not-writable': {
    title: 'Die Datei lässt sich nicht schreiben',
    help: 'Prüfe den Ordner und seine Rechte oder wähle einen anderen.',
  },
  'file-changed': {
    title: 'Ein anderes Programm hat die unfertige Datei verändert',
    help: 'Versuch es noch einmal: Was noch stimmt, bleibt erhalten.',
  },
  'daemon-running': { title: 'Millrace läuft schon', help: 'Verwende das, das läuft.' },
  'daemon-not-running': { title: 'Millrace läuft nicht', help: 'Starte es neu.' },
  'daemon-silent': { title: 'Millrace antwortet nicht', help: 'Starte es neu.' },
  'state-unusable': {
    title: 'Millrace kann seine eigenen Dateien nicht lesen',
    help: 'Welche es ist, steht in daemon.log in seinem Ordner.',
  },
  'no-such-download': {
    title: 'Dieser Download ist nicht mehr in der Liste',
    help: 'Füge ihn neu hinzu.',
  },
  'wrong-state': {
    title: 'Das geht gerade nicht',
    help: 'Sieh nach, in welchem Zustand der Download ist.',
  },
  'queue-full': { title: 'Die Liste ist voll', help: 'Entferne zuerst einige Downloads.' },
  interrupted: {
    title: 'Unterbrochen',
    help: 'Versuch es noch einmal: Es geht weiter, wo es aufgehört hat.',
  },
  internal: {
    title: 'In Millrace ist etwas schiefgegangen',
    help: 'Das ist ein Fehler von Millrace. Bitte melde ihn, mit dem Protokoll.',
  },
};
