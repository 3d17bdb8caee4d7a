/** The page on which the user chooses among the links of another page. */

import './style/picker.css';
import { followTheme, openPage } from './common/page.tsx';
import { Picker } from './picker/picker.tsx';

const page = openPage();
const key = new URLSearchParams(location.search).get('key') ?? '';
document.title = `Millrace: ${page.text.t('picker.title')}`;
void followTheme(page);
page.show(<Picker found={key} />);
