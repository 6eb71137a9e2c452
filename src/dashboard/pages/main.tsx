import { render } from 'preact';
import { Dashboard } from './app.tsx';

render(<Dashboard />, document.getElementById('root')!);
