package command

import "strconv"

// integer reads an integer in the only spelling Redis accepts: no plus, no
// zeros in front, no -0.
func integer(word []byte) (int64, error) {
	n, err := strconv.ParseInt(string(word), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(word) {
		return 0, errNoInteger
	}
	return n, nil
}
