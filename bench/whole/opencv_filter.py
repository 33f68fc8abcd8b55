"""What a person writes with OpenCV to filter one picture: `python opencv_filter.py IN OUT`."""

import sys

import cv2

image = cv2.imread(sys.argv[1], cv2.IMREAD_UNCHANGED)
line = cv2.getGaussianKernel(9, 1.5)
soft = cv2.filter2D(image, -1, line @ line.T, borderType=cv2.BORDER_REFLECT_101)
cv2.imwrite(sys.argv[2], soft)
